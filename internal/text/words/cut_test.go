package words

import "testing"

func TestShorten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "abc…"}, {"", 0, ""}, {"a", 0, "…"},
		{"aé", 2, "a…"}, {"本本", 5, "本…"}, {"😀", 3, "…"}, // no half of a character
		{"\x80\x80\x80\x80\x80\x80\x80\x80", 6, "\x80\x80…"}, // no text: most of it is kept
	} {
		if got := Shorten(c.text, c.most); got != c.want {
			t.Errorf("%q: %q, not %q", c.text, got, c.want)
		}
	}
}
