package layers

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// sum is a figure of the whole, and how large it was wished to be. Its limit, in the page, only goes down.
type sum struct {
	of         string
	goal, step int // limits are multiples of step
	count      func(now map[figure]int, own []string) int
}

// beside is what a reader of the queue need not know: what people look at and change by, HTTP, the journal.
var beside = []string{"inspector", "internal/protocol/byhand", "internal/commands", "cmd", "server", "journal", "internal/ledger", "internal/text"}

var sums = []sum{
	{"code lines of the product", 43000, 250, total(codeLines, func(string) bool { return true })},
	{"code lines of the queue, without what looks at it, HTTP and the journal", 17000, 250, total(codeLines, func(of string) bool {
		return !slices.ContainsFunc(beside, func(dir string) bool { return within(of, dir) })
	})},
	{"code lines of `consumer`", 1200, 50, total(codeLines, func(of string) bool { return of == "consumer" })},
	{"packages of more than 2,500 code lines", 0, 1, above(codeLines, 2500)},
	{"most methods of a type", 25, 1, most(methods)},
	{"functions of more than 60 lines", 0, 1, above(lines, 60)},
	{"functions of more than 15 paths", 20, 1, above(paths, 15)},
	{"lines of the largest part of turn.lua", 90, 1, func(now map[figure]int, _ []string) int {
		n := 0
		for f, lines := range now {
			if strings.HasPrefix(f.of, "luascripts/turn") && path.Ext(f.of) == ".lua" {
				n = max(n, lines)
			}
		}
		return n
	}},
	{"public names of the main module", 260, 1, func(now map[figure]int, own []string) int {
		return total(publicNames, func(of string) bool {
			return !slices.ContainsFunc(own, func(dir string) bool { return within(of, dir) })
		})(now, own)
	}},
	{"public names of `rmq`", 60, 1, total(publicNames, func(of string) bool { return of == "rmq" })},
	{"words of the documents", 60000, 250, total(words, func(string) bool { return true })},
	{"words of README", 1500, 50, total(words, func(of string) bool { return of == "README.md" })},
}

func total(column string, counts func(of string) bool) func(map[figure]int, []string) int {
	return func(now map[figure]int, _ []string) int {
		n := 0
		for f, size := range now {
			if f.column == column && counts(f.of) {
				n += size
			}
		}
		return n
	}
}

func above(column string, bound int) func(map[figure]int, []string) int {
	return func(now map[figure]int, _ []string) int {
		n := 0
		for f, size := range now {
			if f.column == column && size > bound {
				n++
			}
		}
		return n
	}
}

func most(column string) func(map[figure]int, []string) int {
	return func(now map[figure]int, _ []string) int {
		n := 0
		for f, size := range now {
			if f.column == column {
				n = max(n, size)
			}
		}
		return n
	}
}

// wholeTable is the table under this head.
var wholeTable = regexp.MustCompile(`(?s)(## The whole\n.*?\n\|[-:|]+\|\n)((?:\|[^\n]*\n)*)`)

// wholeRows writes the table with limits of at most those of before, and tells what is past its own.
func wholeRows(before string, now map[figure]int, own []string) (rows string, wrong []string) {
	limits := map[string]int{}
	for line := range strings.Lines(before) {
		if cells := strings.Split(line, "|"); len(cells) == 5 {
			limits[strings.TrimSpace(cells[1])] = number(strings.TrimSpace(cells[2]))
		}
	}
	for _, s := range sums {
		n := s.count(now, own)
		limit := (n + s.step - 1) / s.step * s.step
		if old, listed := limits[s.of]; listed && n > old {
			wrong = append(wrong, fmt.Sprintf("%s: %s, and the limit is %s", s.of, grouped(n), grouped(old)))
			limit = old
		} else if listed {
			limit = min(limit, old)
		}
		rows += fmt.Sprintf("| %s | %s | %s |\n", s.of, grouped(limit), grouped(s.goal))
	}
	return rows, wrong
}

// withWhole is the page with the table of the whole written anew.
func withWhole(page string, now map[figure]int, own []string) (string, []string) {
	m := wholeTable.FindStringSubmatch(page)
	if m == nil {
		return page, []string{"there is no table of the whole"}
	}
	rows, wrong := wholeRows(m[2], now, own)
	return strings.Replace(page, m[1]+m[2], m[1]+rows, 1), wrong
}

func TestWholeRows(t *testing.T) {
	t.Parallel()
	now := map[figure]int{
		{"rmq", codeLines}: 200, {"rmqprom", codeLines}: 2501, {"rmq", publicNames}: 61, {"rmqprom", publicNames}: 7,
		{"internal/text/wire", codeLines}: 10, {"rmq.Client", methods}: 26, {"rmq.New", lines}: 61, {"rmq.New", paths}: 16,
		{"luascripts/turn/take.lua", lines}: 91, {"README.md", words}: 1501,
	}
	rows, wrong := wholeRows("| public names of `rmq` | 60 | 60 |\n| most methods of a type | 30 | 25 |\n", now, []string{"rmqprom"})
	for _, want := range []string{
		"| code lines of the product | 2,750 |", "without what looks at it, HTTP and the journal | 2,750 |", "| code lines of `consumer` | 0 |",
		"| packages of more than 2,500 code lines | 1 |", "| most methods of a type | 26 | 25 |", "| functions of more than 60 lines | 2 |",
		"| functions of more than 15 paths | 1 |", "turn.lua | 91 |", "main module | 61 |", "of `rmq` | 60 | 60 |", "documents | 1,750 |", "README | 1,550 |",
	} {
		if !strings.Contains(rows, want) {
			t.Errorf("%q is missing in\n%s", want, rows)
		}
	}
	if len(wrong) != 1 || !strings.Contains(wrong[0], "public names of `rmq`: 61, and the limit is 60") {
		t.Error(wrong)
	}
}
