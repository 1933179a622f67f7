package columns

import (
	"strings"
	"testing"
)

// What takes how many columns, as terminals that know Unicode show it.
func TestColumns(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		"": 0, "order 4711": 10, "Bücher": 6, "…": 1, "→ ok": 4,
		"✅ paid": 7, "☕": 2, "⌚": 2, "⚠": 1, "✔": 1, "€": 1, // some pictures are wide, some are not
		"⚠\ufe0f": 2, "✔\ufe0f": 2, "❤\ufe0f": 2, "1\ufe0f\u20e3": 2, // a variation selector makes them wide
		"👍🏽": 2, "🇩🇪": 2, "👨\u200d👩\u200d👧\u200d👦": 2, "🏳\ufe0f\u200d🌈": 2, // several that are shown as one
		"日本語": 6, "한글": 4, "\u1112\u1161\u11ab": 2, "Ａ": 2, "ｱ": 1, "㊙": 2, "、": 2,
		"e\u0301": 1, "か\u3099": 2, "ก็": 1, "مرحبا": 5, "a\u0300\u0301\u0302b": 2, "\u200b": 0,
	} {
		if got := Of(text); got != want {
			t.Errorf("%s (%+q): %d, want %d", text, text, got, want)
		}
	}
}

// What is too long is cut between characters, never in one.
func TestShorten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text string
		most int
		want string
	}{
		{"", 5, ""}, {"order", 5, "order"}, {"orders", 5, "orde…"}, {"日本語", 6, "日本語"}, {"日本語", 5, "日本…"}, {"日本語", 4, "日…"},
		{"✅✅✅", 5, "✅✅…"}, {"e\u0301e\u0301e\u0301", 3, "e\u0301e\u0301e\u0301"}, {"e\u0301e\u0301e\u0301", 2, "e\u0301…"},
		{"a👍🏽bc", 4, "a👍🏽…"}, {"a👍🏽bc", 3, "a…"}, {"⚠\ufe0f⚠\ufe0f", 3, "⚠\ufe0f…"}, {strings.Repeat("x", 1<<20), 3, "xx…"},
	} {
		if got := Shorten(c.text, c.most); got != c.want || Of(got) > c.most {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"one two three", "one two|three"},
		{"one  two\nthree", "one  two|three"}, // a name may have several spaces
		{"one   two  ", "one|two"},
		{"  a\tb", "a b"},
		{"abcdefghijklm no", "abcdefgh|ijklm no"},
		{"日本語日本語", "日本語日|本語"},
		{"✅✅✅✅✅", "✅✅✅✅|✅"}, {"ab👍🏽👍🏽👍🏽👍🏽", "ab👍🏽👍🏽👍🏽|👍🏽"}, {"⚠\ufe0f done now", "⚠\ufe0f done|now"},
	} {
		if got := strings.Join(Wrap(c.text, 8), "|"); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}
