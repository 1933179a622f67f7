package message

import "testing"

func TestMissed(t *testing.T) {
	t.Parallel()
	for missed, name := range map[Missed]string{MissedOnce: "once", MissedSkip: "skip"} {
		if missed.String() != name {
			t.Errorf("%v is not %s", missed, name)
		}
	}
	if Missed(2).String() != "Missed(2)" {
		t.Error("a number that is none")
	}
}
