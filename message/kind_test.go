package message

import "testing"

func TestKinds(t *testing.T) {
	t.Parallel()
	for i, want := range []struct {
		kind             Kind
		name             string
		timed, firstWins bool
	}{
		{KindRangeMerge, "range-merge", true, true},
		{KindPriority, "priority", false, false},
		{KindFixedTime, "fixed-time", true, false},
	} {
		k := Kinds()[i]
		read, known := ParseKind(want.name)
		if k != want.kind || k.String() != want.name || k.Timed() != want.timed || k.FirstWins() != want.firstWins || read != k || !known {
			t.Errorf("%v: %q, timed %v, first wins %v, read as %v", k, k, k.Timed(), k.FirstWins(), read)
		}
	}
	if len(Kinds()) != 3 {
		t.Errorf("%d kinds", len(Kinds()))
	}
	for _, name := range []string{"", "Priority", "Kind(0)", "Kind(9)"} {
		if k, known := ParseKind(name); known || k != 0 {
			t.Errorf("%q is %v", name, k)
		}
	}
	if Kind(9).String() != "Kind(9)" || Kind(9).Timed() || Kind(200).FirstWins() {
		t.Error("a number that is no kind")
	}
}
