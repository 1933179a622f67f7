package story

import "testing"

// Of equal priorities it is not known which goes first.
func TestBefore(t *testing.T) {
	t.Parallel()
	for n, says := range map[[2]int]string{
		{0, 0}: "none goes before it", {1, 0}: "1 goes before it", {7, 0}: "7 go before it",
		{0, 49}: "49 with the same priority may go before it", {1, 49}: "1 goes before it, and 49 with the same priority may",
	} {
		if got := before(n[0], n[1]); got != says {
			t.Errorf("%v: %q, not %q", n, got, says)
		}
	}
}
