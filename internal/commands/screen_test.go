package commands

import (
	"io"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/wire"
)

// on is an app that prints on a screen.
func on(s screen, w io.Writer) *app {
	a := newApp(program, strings.NewReader(""), w, io.Discard)
	a.screen = s
	return a
}

func TestTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		screen screen
		want   string
	}{
		{screen{width: 80}, `
NAME                        N  CONTENT
a                           1  short
long name of some topic  1000  ` + strings.Repeat("x", 48) + `…
                           22  日本語`},
		{screen{width: 40}, `
NAME                 N  CONTENT
a                    1  short
long name of so…  1000  xxxxxxxxxxxxxxx…
                    22  日本語`},
		{screen{width: 80, terminal: true}, "" +
			"\n\x1b[2mNAME\x1b[0m                        \x1b[2mN\x1b[0m  \x1b[2mCONTENT\x1b[0m\n" +
			"a                           1  \x1b[31mshort\x1b[0m\n" +
			"long name of some topic  1000  " + strings.Repeat("x", 48) + "…\n" +
			"                           22  日本語"},
	} {
		var out strings.Builder
		a := on(c.screen, &out)
		table := a.table("name", "n#", "content")
		table.row("a", 1, painted{"short", red})
		table.row("long name of some topic", 1000, strings.Repeat("x", 300))
		table.row("", 22, "日本語")
		must.Do(t, table.end())
		must.Do(t, a.flush())
		if got := out.String(); got != c.want[1:]+"\n" {
			t.Errorf("%+v: got\n%swant%s", c.screen, got, c.want)
		}
	}
}

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
		if got := columns(text); got != want {
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
		if got := shorten(c.text, c.most); got != c.want || columns(got) > c.most {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.most, got, c.want)
		}
	}
}

// Columns stand below each other, whatever is in them.
func TestTableOfWideCharacters(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	a := on(screen{width: 80}, &out)
	table := a.table("content", "n#", "reason")
	for n, content := range []string{"plain", "✅ paid", "⚠\ufe0f late", "👍🏽 ok", "日本語", "cafe\u0301", strings.Repeat("✅", 60)} {
		table.row(content, n, "end")
	}
	must.Do(t, table.end())
	must.Do(t, a.flush())
	for line := range strings.Lines(out.String()) {
		at := strings.Index(line, "end")
		if at < 0 {
			at = strings.Index(line, "REASON")
		}
		if got := columns(line[:at]); got != 74 {
			t.Errorf("the last column begins at %d, want 74: %s", got, line)
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
		if got := strings.Join(wrap(c.text, 8), "|"); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slots []int
		want  string
	}{{nil, ""}, {[]int{3}, "3"}, {[]int{0, 1, 2, 7}, "0-2, 7"}, {[]int{1, 3, 5, 6}, "1, 3, 5-6"}} {
		if got := wire.Ranges(c.slots); got != c.want {
			t.Errorf("%v: %s", c.slots, got)
		}
	}
}
