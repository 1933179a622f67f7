package protocol

import "testing"

func TestTakerIDs(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"gateway-1", "a-0123456789abcdef0123456789abcdef", "-"} {
		id := TakerID(name, TakerBits{0xff, 15: 1})
		if got, taker := TakerName(id); got != name || !taker {
			t.Errorf("%q: %q, %v", id, got, taker)
		}
	}
	for _, id := range []string{"", "host-17", "host-0a1b2c3d", "0123456789abcdef0123456789abcdef", "-0123456789abcdef0123456789abcdef", "a-0123456789abcdef0123456789abcdeF",
		"a0123456789abcdef0123456789abcdef", "a-0123456789abcdef0123456789abcde"} {
		if got, taker := TakerName(id); got != id || taker {
			t.Errorf("%q: %q, %v", id, got, taker)
		}
	}
}
