package commands

import (
	"io"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/columns"
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
		if got := columns.Of(line[:at]); got != 74 {
			t.Errorf("the last column begins at %d, want 74: %s", got, line)
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
