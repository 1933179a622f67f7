package frame

import (
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/text/columns"
	"github.com/slotmq/go-rmq/internal/text/wire"
)

func TestTable(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		screen Screen
		want   string
	}{
		{Screen{Width: 80}, `
NAME                        N  CONTENT
a                           1  short
long name of some topic  1000  ` + strings.Repeat("x", 48) + `…
                           22  日本語`},
		{Screen{Width: 40}, `
NAME                 N  CONTENT
a                    1  short
long name of so…  1000  xxxxxxxxxxxxxxx…
                    22  日本語`},
		{Screen{Width: 80, Terminal: true}, "" +
			"\n\x1b[2mNAME\x1b[0m                        \x1b[2mN\x1b[0m  \x1b[2mCONTENT\x1b[0m\n" +
			"a                           1  \x1b[31mshort\x1b[0m\n" +
			"long name of some topic  1000  " + strings.Repeat("x", 48) + "…\n" +
			"                           22  日本語"},
	} {
		var out strings.Builder
		p := newPage("rmq", nil, &out, nil)
		p.Screen = c.screen
		table := p.Table("name", "n#", "content")
		table.Row("a", 1, Painted{"short", Red})
		table.Row("long name of some topic", 1000, strings.Repeat("x", 300))
		table.Row("", 22, "日本語")
		table.End()
		must.Do(t, p.Flush())
		if got := out.String(); got != c.want[1:]+"\n" {
			t.Errorf("%+v: got\n%swant%s", c.screen, got, c.want)
		}
	}
}

// Columns stand below each other, whatever is in them.
func TestTableOfWideCharacters(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := newPage("rmq", nil, &out, nil)
	table := p.Table("content", "n#", "reason")
	for n, content := range []string{"plain", "✅ paid", "⚠\ufe0f late", "👍🏽 ok", "日本語", "cafe\u0301", strings.Repeat("✅", 60)} {
		table.Row(content, n, "end")
	}
	table.End()
	must.Do(t, p.Flush())
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
