package humantime

import (
	"fmt"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

func TestSpans(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "7d": 168 * time.Hour, "2d12h": 60 * time.Hour, "0s": 0, "1.5h": 90 * time.Minute,
	} {
		if got, err := ParseSpan(text); err != nil || got != want {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "7", "d", "-1s", "1d-1s", "x", "7dd", "1d 2h", "1h0", "1e3s", "1/2h", "0x10s", ".h", "1_0s", "\u0661s", strings.Repeat("9", 101) + "s"} {
		if got, err := ParseSpan(text); err == nil || !strings.Contains(err.Error(), "not a duration such as 90s") {
			t.Errorf("%q is %v, %v", text, got, err)
		}
	}
}

// A duration that is too large must not come out as another one: rmq dead delete takes it for
// the age of what it deletes.
func TestSpansThatOverflow(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"106751d23h47m16s854ms775us807ns": math.MaxInt64, "9223372036s854ms775807ns": math.MaxInt64, "65535d": 65535 * 24 * time.Hour,
		"0.000000001s": 1, "0.9ns": 0, "106751.5d": 106751*24*time.Hour + 12*time.Hour,
	} {
		if got, err := ParseSpan(text); err != nil || got != want {
			t.Errorf("%s: %d, %v", text, got, err)
		}
	}
	for _, text := range []string{
		"65535d2000000h", "9223372036s1000ms", "106751d23h47m16s854ms775us808ns", "106752d", "2562048h", "9223372036854775808ns",
		"99999999d", strings.Repeat("9", 90) + "d", "106751d106751d", "65535d65535d65535d65535d",
	} {
		if got, err := ParseSpan(text); err == nil || !strings.Contains(err.Error(), "106751d") {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	// Every text is read as what it says, or is refused.
	r := sharetest.Rand(t)
	for range 20_000 {
		var text strings.Builder
		exact, scale := new(big.Int), big.NewInt(int64(time.Hour))
		for range 1 + r.IntN(4) {
			n := r.Uint64() >> r.IntN(64)
			unit := []string{"d", "h", "m", "s", "ms", "us", "ns"}[r.IntN(7)]
			fmt.Fprintf(&text, "%d%s", n, unit)
			scale.SetInt64(int64(spanUnits[unit]))
			exact.Add(exact, scale.Mul(scale, new(big.Int).SetUint64(n)))
		}
		got, err := ParseSpan(text.String())
		if (err == nil) != exact.IsInt64() || err == nil && int64(got) != exact.Int64() {
			t.Fatalf("%s is %d, %v; want %s", &text, got, err, exact)
		}
	}
}
