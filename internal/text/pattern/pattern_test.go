package pattern

import (
	"errors"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

// binary is a content that breaks whatever takes contents for text.
const binary = "a\x00b\r\n\xff\xfe {3} \"q\" \x1b[31m'é\u202e"

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern   string
		fits, not []string
	}{
		{"", []string{""}, []string{"a"}},
		{"*", []string{"", "a", binary, "a\nb"}, nil},
		{"order *", []string{"order ", "order 7", "order 7\n"}, []string{"order", "an order 7"}},
		{"*7", []string{"7", "77", "order 7"}, []string{"7 "}},
		{"a*b*c", []string{"abc", "aXbYc", "abbcbc", "abcabc"}, []string{"ab", "acb", "abcd"}},
		{"a**b", []string{"ab", "axb"}, []string{"a"}},
		{"?", []string{"a", "é", "订", "\xff", "\n"}, []string{"", "ab", "\xff\xff"}},
		{"*?", []string{"a", "ab"}, []string{""}},
		{"[a-c]x", []string{"ax", "cx"}, []string{"dx", "x", "[a-c]x"}},
		{"[^a-c]", []string{"d", "^", "\xfe", "é"}, []string{"a", ""}},
		{"[]]", []string{"]"}, []string{"[]"}},
		{"[a-]", []string{"a", "-"}, []string{"b"}},
		{`[\]\-a]`, []string{"]", "-", "a"}, []string{`\`}},
		{"[α-ω]", []string{"λ"}, []string{"l", "\xce"}},
		{`\*`, []string{"*"}, []string{"a", `\*`}},
		{`\[a\]`, []string{"[a]"}, []string{"a"}},
		{"\xff*", []string{"\xff", "\xff\xfe"}, []string{"\ufffd", "\xfe"}},
		{"\ufffd", []string{"\ufffd"}, []string{"\xff"}},
		{"a\x00*", []string{binary}, nil},
	} {
		filter, err := Glob(c.pattern)
		if err != nil {
			t.Errorf("%q: %v", c.pattern, err)
			continue
		}
		for _, content := range c.fits {
			if !filter(content) {
				t.Errorf("%q does not fit %q", c.pattern, content)
			}
		}
		for _, content := range c.not {
			if filter(content) {
				t.Errorf("%q fits %q", c.pattern, content)
			}
		}
	}
}

func TestGlobIsQuick(t *testing.T) {
	t.Parallel()
	filter, err := Glob("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b")
	must.Do(t, err)
	long := make([]byte, 5000)
	for n := range long {
		long[n] = 'a'
	}
	if filter(string(long)) { // a matcher that tries all ways would not come to an end
		t.Error("it fits")
	}
}

func TestBadPatterns(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{"[", "[a", "[^", "[]", "[a-", `[\`, `a\`} {
		_, err := Glob(pattern)
		wantInvalid(t, err, "pattern", `\`)
	}
	_, err := Regexp("(a")
	wantInvalid(t, err, "regular expression", "(a", "missing closing )")
}

func TestRegexp(t *testing.T) {
	t.Parallel()
	filter, err := Regexp(`^order \d+$`)
	must.Do(t, err)
	if !filter("order 4711") || filter("order x") || filter(binary) {
		t.Error("it does not do what Go's expressions do")
	}
}

func wantInvalid(t testing.TB, err error, words ...string) {
	t.Helper()
	for _, w := range words {
		if !errors.Is(err, message.ErrInvalid) || !strings.Contains(err.Error(), w) {
			t.Errorf("got error %v, want it to name %q", err, w)
		}
	}
}
