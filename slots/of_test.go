package slots

import (
	"math/rand"
	"strconv"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// Golden vectors: part of the stored format. "123456789" is the check value
// that every description of CRC-32 gives.
var vectors = []struct {
	basis string
	crc   uint32
}{
	{"", 0x00000000},
	{"123456789", 0xcbf43926},
	{"a", 0xe8b7be43},
	{"abc", 0x352441c2},
	{"The quick brown fox jumps over the lazy dog", 0x414fa339},
	{"\x00", 0xd202ef8d},
	{"\xff\xff\xff\xff", 0xffffffff},
	{"订单", bitwise("订单")},
}

func TestGoldenVectors(t *testing.T) {
	t.Parallel()
	for _, v := range vectors {
		for _, n := range []int{1, 2, 16, 256, 65536} {
			if got, want := Of(v.basis, n), int(v.crc%uint32(n)); got != want {
				t.Errorf("Of(%q, %d) = %d, want %d", v.basis, n, got, want)
			}
		}
	}
	// Spelled out once more, as the numbers people will see in key names.
	for basis, want := range map[string]int{"123456789": 6, "a": 3, "order-4711": int(bitwise("order-4711") % 16)} {
		if got := Of(basis, 16); got != want {
			t.Errorf("Of(%q, 16) = %d, want %d", basis, got, want)
		}
	}
}

// bitwise is CRC-32 as its definition reads, one bit at a time, independent of
// any library: polynomial 0xedb88320, begun and ended with all ones.
func bitwise(s string) uint32 {
	crc := ^uint32(0)
	for i := range len(s) {
		crc ^= uint32(s[i])
		for range 8 {
			crc = crc>>1 ^ 0xedb88320&-(crc&1)
		}
	}
	return ^crc
}

func TestAgainstTheDefinition(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewSource(sharetest.Seed(t)))
	for range 2000 {
		b := make([]byte, r.Intn(300))
		r.Read(b)
		n := 1 << r.Intn(17)
		if got, want := Of(string(b), n), int(bitwise(string(b))%uint32(n)); got != want {
			t.Fatalf("Of(%x, %d) = %d, want %d", b, n, got, want)
		}
	}
}

func TestSpread(t *testing.T) {
	t.Parallel()
	var count [16]int
	for i := range 160_000 {
		count[Of("order-"+strconv.Itoa(i), 16)]++
	}
	for slot, n := range count {
		if n < 9_000 || n > 11_000 {
			t.Errorf("slot %d has %d of 160000", slot, n)
		}
	}
}
