package main

import (
	"io"
	"strings"
	"testing"
)

// on is an app that prints on a screen.
func on(s screen, w io.Writer) *app {
	a := newApp(strings.NewReader(""), w, io.Discard)
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
		must(t, table.end())
		must(t, a.flush())
		if got := out.String(); got != c.want[1:]+"\n" {
			t.Errorf("%+v: got\n%swant%s", c.screen, got, c.want)
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
	} {
		if got := strings.Join(wrap(c.text, 8), "|"); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}

func TestLegible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"order 4711":      "order 4711",
		"Bücher, 本, ✓":    "Bücher, 本, ✓",
		`say "hi"`:        `say "hi"`,
		`"quoted"`:        `"\"quoted\""`,
		" space":          `" space"`,
		"space ":          `"space "`,
		"":                `""`,
		"two\nlines":      `"two\nlines"`,
		"\x1b[31mred":     `"\x1b[31mred"`,
		"a\xffb":          `"a\xffb"`,
		"right\u202eleft": `"right\u202eleft"`,
	} {
		if got := legible(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestRanges(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		slots []int
		want  string
	}{{nil, ""}, {[]int{3}, "3"}, {[]int{0, 1, 2, 7}, "0-2, 7"}, {[]int{1, 3, 5, 6}, "1, 3, 5-6"}} {
		if got := ranges(c.slots); got != c.want {
			t.Errorf("%v: %s", c.slots, got)
		}
	}
}
