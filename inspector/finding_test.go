package inspector

import "testing"

// A check is one line each, whatever the ids in it are made of: terminals and programs read it.
func TestCheckIsOneLine(t *testing.T) {
	t.Parallel()
	got := check("role", []finding{{level: Fail, detail: "a\xff\xffb\nc\x1b", advice: "d\r\ne", command: "f"}})
	if want := (Check{Name: "role", Level: Fail, Detail: "a\ufffdb; c\ufffd", Advice: "d; e", Command: "f"}); got != want {
		t.Errorf("%+q, not %+q", got, want)
	}
}
