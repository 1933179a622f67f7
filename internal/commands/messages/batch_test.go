package messages

import (
	"strings"
	"testing"
)

func TestLineTooLong(t *testing.T) {
	t.Parallel()
	quit := make(chan struct{})
	defer close(quit)
	lines := linesOf(strings.NewReader("short\n"+strings.Repeat("x", 1<<20)), 1<<20, quit)
	if l := <-lines; string(l.text) != "short" || l.err != nil {
		t.Errorf("%q, %v", l.text, l.err)
	}
	if l := <-lines; l.err == nil || l.err.Error() != "it is longer than 1 MiB" {
		t.Errorf("%v", l.err)
	}
}
