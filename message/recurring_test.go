package message

import "testing"

func TestMissed(t *testing.T) {
	t.Parallel()
	for missed, name := range map[Missed]string{MissedOnce: "once", MissedSkip: "skip"} {
		if read, known := ParseMissed(name); missed.String() != name || read != missed || !known {
			t.Errorf("%v: %q is read as %v", missed, name, read)
		}
	}
	for _, name := range []string{"", "Once", "Missed(2)"} {
		if read, known := ParseMissed(name); known || read != MissedOnce {
			t.Errorf("%q is %v", name, read)
		}
	}
	if Missed(2).String() != "Missed(2)" {
		t.Error("a number that is none")
	}
}
