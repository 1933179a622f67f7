package session

import "testing"

func TestHostsAreTriedInTurn(t *testing.T) {
	t.Parallel()
	var h hosts
	if err := h.Init([]string{"a", "b"}); err != nil || h.Len() != 2 {
		t.Fatal(err)
	}
	next := func(server string, wait bool) {
		t.Helper()
		if s, w := h.Next(); s != server || w != wait {
			t.Errorf("%s, wait %v; want %s, %v", s, w, server, wait)
		}
	}
	next("a", false)
	next("b", false)
	next("a", true) // no server was there: not at once again
	h.Connected()
	next("b", false)
	next("a", false)
	next("b", true)
	next("a", false)
	next("b", true)
}
