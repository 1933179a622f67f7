package wire

import (
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestParseSlots(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]int{
		"3": {3}, "3,7": {3, 7}, "7, 3": {3, 7}, "3,3": {3}, "0-5": {0, 1, 2, 3, 4, 5}, "65535": {65535},
		"2-4,0-3,3": {0, 1, 2, 3, 4}, "0-4,1-2,2,6": {0, 1, 2, 3, 4, 6}, "0-1,2-3": {0, 1, 2, 3},
	} {
		if got, err := ParseSlots(text); err != nil || !slices.Equal(got, want) {
			t.Errorf("%q: %v, %v; want %v", text, got, err, want)
		}
	}
	for _, text := range []string{"", ",", "3,", "-1", "65536", "5-3", "3-", "x", strings.Repeat("1,", mostParts) + "1"} {
		if got, err := ParseSlots(text); err == nil || got != nil {
			t.Errorf("%q: %v", text, got)
		}
	}
}

// A short text that names all slots again and again costs no more than all slots once.
func TestParseSlotsIsBounded(t *testing.T) { // not in parallel, as it measures
	text := strings.Repeat("0-65535,", mostParts-1) + "7"
	const most = 4 << 20 // bytes; all slots are half a MiB
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	all, err := ParseSlots(text)
	runtime.ReadMemStats(&after)
	if err != nil || len(all) != 1<<16 || cap(all) != len(all) {
		t.Errorf("%d slots of %d, %v", len(all), cap(all), err)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > most {
		t.Errorf("%d bytes are allocated for %d of text", n, len(text))
	}
}
