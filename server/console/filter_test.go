package console

import (
	"testing"

	"github.com/slotmq/go-rmq/inspector"
)

// A part of a content is found in it, whatever it is made of. What was written as a pattern stays one.
func TestPatternOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		part, content string
		finds         bool
	}{
		{"4711", "order 4711, 12,50 EUR", true},
		{`a[b]?\`, `x a[b]?\ y`, true},
		{"4?11", "order 4711", false},
		{"[47]", "order 4711", false},
		{"order 47*", "order 4711", true},
		{"47*", "order 4711", false},
	} {
		fits, err := inspector.Glob(patternOf(c.part))
		must(t, err)
		if fits(c.content) != c.finds {
			t.Errorf("%q finds %q: %t", c.part, c.content, !c.finds)
		}
	}
}
