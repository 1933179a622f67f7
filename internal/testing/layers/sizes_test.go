package layers

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var sizesUpdate = flag.Bool("update", false, "rewrite the tables of docs/SIZES.md: lower what became smaller, add what is new")

const sizesPage = "docs/SIZES.md"

// column is one kind of figure, and the rule about it.
type column struct {
	name string
	free int // a figure up to it needs no row; 0: each has one
	most int // more is against the rules, whatever the reason; 0: there is no such rule
	step int // limits are multiples of it and leave room for half of it; 0: they are exact
}

// part is one table of the page.
type part struct {
	head, of string
	columns  []column
	summed   bool
}

var parts = []part{
	{"Packages", "package", []column{{name: codeLines, most: 2500, step: 50}, {name: publicNames}}, true},
	{"Types", "type", []column{{name: methods, free: 15, most: 25}, {name: inFiles}}, false},
	{"Functions", "function", []column{{name: lines, free: 60, most: 60}, {name: paths, free: 15}}, false},
	{"Documents", "document", []column{{name: words, step: 250}}, true},
}

// limit is what a figure may be: the mark, which it has reached once and so never may pass
// again without a reason, and what it may be more, for the reason in its row.
type limit struct{ mark, more int }

func (l limit) all() int { return l.mark + l.more }

// sizeTable is what the page says: a limit for each figure, and the reasons, by the name of the row.
type sizeTable struct {
	limits map[figure]limit
	why    map[string]string
}

// limitFor is the lowest limit that leaves n some room.
func (c column) limitFor(n int) int {
	if c.step == 0 {
		return n
	}
	up := (n + c.step/2 + c.step - 1) / c.step * c.step
	if n <= c.most {
		return min(up, c.most)
	}
	return up
}

// first is the limit of what has no row yet.
func (c column) first(n int) limit {
	switch {
	case c.free > 0:
		return limit{mark: c.free}
	case c.most > 0:
		return limit{mark: min(c.limitFor(n), c.most)}
	}
	return limit{mark: c.limitFor(n)}
}

// lowered is the limit when the figure has become n.
func (c column) lowered(l limit, n int) limit {
	low := limit{mark: min(l.mark, c.limitFor(n))}
	low.more = max(0, min(l.more, c.limitFor(n)-low.mark))
	return low
}

// against tells what a figure of n is against; empty when all is well.
func (c column) against(n int, l limit, why string) string {
	past := c.most > 0 && l.all() > c.most
	switch {
	case n > l.all() && c.most > 0 && n > c.most:
		return fmt.Sprintf("%d %s, more than %d: nothing may grow past %d", n, c.name, l.all(), c.most)
	case n > l.all():
		return fmt.Sprintf("%d %s, and its limit is %d: make it smaller, or write \"%s + %s\" into its row of %s, and why into the last column",
			n, c.name, l.all(), grouped(l.mark), grouped(c.limitFor(n)-l.mark), sizesPage)
	case l.more > 0 && past:
		return fmt.Sprintf("\"%d + %d\" %s: no reason allows more than %d", l.mark, l.more, c.name, c.most)
	case l.more > 0 && !sentence.MatchString(why):
		return fmt.Sprintf("\"%d + %d\" %s: the last column says why, in a sentence", l.mark, l.more, c.name)
	}
	return ""
}

var sentence = regexp.MustCompile(`^\p{Lu}\S*(\s+\S+){3,}\.$`) // of four words at least

// next is the table as it should be, and what is wrong with the figures of now. It lowers limits
// and raises none.
func (t sizeTable) next(now map[figure]int) (sizeTable, []string) {
	fresh, wrong := sizeTable{map[figure]limit{}, map[string]string{}}, []string(nil)
	for _, p := range parts {
		for _, c := range p.columns {
			for f, n := range now {
				if f.column != c.name {
					continue
				}
				l, listed := t.limits[f]
				if !listed {
					l = c.first(n)
				}
				if bad := c.against(n, l, t.why[f.of]); bad != "" {
					wrong = append(wrong, p.of+" "+f.of+" has "+bad)
				} else {
					l = c.lowered(l, n)
				}
				if n > c.free && (listed || n <= l.all()) {
					fresh.limits[f] = l
				}
				if l.more > 0 {
					fresh.why[f.of] = t.why[f.of]
				}
			}
		}
	}
	slices.Sort(wrong)
	return fresh, wrong
}

// rows writes the table of a part. Limits past a rule are bold.
func (t sizeTable) rows(p part) string {
	var head, rule, body strings.Builder
	head.WriteString("| " + p.of)
	rule.WriteString("|---")
	sums := make([]int, len(p.columns))
	names := map[string]bool{}
	for _, c := range p.columns {
		head.WriteString(" | " + c.name)
		rule.WriteString("|--:")
		for f := range t.limits {
			if f.column == c.name {
				names[f.of] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		body.WriteString("| `" + name + "`")
		for i, c := range p.columns {
			l, ok := t.limits[figure{name, c.name}]
			sums[i] += l.all()
			body.WriteString(" | " + cell(c, l, ok))
		}
		body.WriteString(" | " + t.why[name] + " |\n")
	}
	if p.summed {
		body.WriteString("| all limits")
		for _, sum := range sums {
			body.WriteString(" | " + grouped(sum))
		}
		body.WriteString(" | |\n")
	}
	return head.String() + " | why more |\n" + rule.String() + "|---|\n" + body.String()
}

func cell(c column, l limit, ok bool) string {
	s := grouped(l.mark)
	switch {
	case !ok:
		return ""
	case l.more > 0:
		return s + " + " + grouped(l.more)
	case c.most > 0 && l.mark > c.most:
		return "**" + s + "**"
	}
	return s
}

// grouped writes 12345 as 12,345.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// written is the page with its tables written anew.
func (t sizeTable) written(page string) string {
	var out strings.Builder
	var at *part // whose table is still to come
	inside := false
	for line := range strings.Lines(page) {
		if head, ok := strings.CutPrefix(line, "## "); ok {
			at = partOf(strings.TrimSpace(head))
		}
		row := strings.HasPrefix(line, "|")
		if row && at != nil {
			out.WriteString(t.rows(*at))
			at, inside = nil, true
		}
		inside = inside && row
		if !inside {
			out.WriteString(line)
		}
	}
	return out.String()
}

func partOf(head string) *part {
	for i := range parts {
		if parts[i].head == head {
			return &parts[i]
		}
	}
	return nil
}

var (
	sizeRow  = regexp.MustCompile("^\\| `([^`]+)` \\|(.*)\\|$")
	sizeCell = regexp.MustCompile(`^([\d,]+)(?: \+ ([\d,]+))?$`)
)

// readSizes reads the tables of the page.
func readSizes(page string) (sizeTable, error) {
	t := sizeTable{map[figure]limit{}, map[string]string{}}
	var at *part
	for line := range strings.Lines(page) {
		if head, ok := strings.CutPrefix(line, "## "); ok {
			at = partOf(strings.TrimSpace(head))
		}
		m := sizeRow.FindStringSubmatch(strings.TrimSpace(line))
		if at == nil || m == nil {
			continue
		}
		cells := strings.Split(m[2], "|")
		if len(cells) != len(at.columns)+1 {
			return t, fmt.Errorf("%s: %q does not have %d cells", sizesPage, line, len(at.columns)+2)
		}
		t.why[m[1]] = strings.TrimSpace(cells[len(at.columns)])
		for i, c := range at.columns {
			text := strings.Trim(cells[i], " *")
			n := sizeCell.FindStringSubmatch(text)
			if text != "" && n == nil {
				return t, fmt.Errorf("%s: %q in %q is no limit like \"1,250\" or \"1,250 + 50\"", sizesPage, text, line)
			}
			if n != nil {
				t.limits[figure{m[1], c.name}] = limit{number(n[1]), number(n[2])}
			}
		}
	}
	return t, nil
}

// number is what grouped has written.
func number(s string) int {
	n, _ := strconv.Atoi(strings.ReplaceAll(s, ",", "")) // an empty one is 0; others were matched
	return n
}

func TestSizes(t *testing.T) {
	t.Parallel()
	files := repository(t)
	i := slices.IndexFunc(files, func(f file) bool { return f.path == sizesPage })
	if i < 0 {
		t.Fatalf("%s is not there", sizesPage)
	}
	old, err := readSizes(files[i].text)
	if err != nil {
		t.Fatal(err)
	}
	now := measure(files)
	fresh, wrong := old.next(now)
	page, past := withWhole(fresh.written(files[i].text), now, ownModules(files))
	for _, w := range append(wrong, past...) {
		t.Error(w)
	}
	switch {
	case len(fresh.limits) < 100:
		t.Fatal("the tree was not read") // a table of nothing is within all limits
	case page == files[i].text:
	case *sizesUpdate:
		if err := os.WriteFile(root+"/"+sizesPage, []byte(page), 0o666); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("%s says more than there is. Run go test ./internal/testing/layers -run Sizes -update, which lowers it:\n%s", sizesPage, firstChange(files[i].text, page))
	}
}

// firstChange shows where two pages part.
func firstChange(old, now string) string {
	a, b := strings.Split(old, "\n"), strings.Split(now, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return "- " + a[i] + "\n+ " + b[i]
		}
	}
	return fmt.Sprintf("%d lines become %d", len(a), len(b))
}

// onePage is a page with one row of each kind.
const onePage = `# How large it is

## Packages

Words.

| package | code lines | public names | why more |
|---|--:|--:|---|
| ` + "`slots`" + ` | 100 | 7 |  |

## Types

| type | methods | files | why more |
|---|--:|--:|---|
| ` + "`slots.T`" + ` | **30** | 4 + 1 | Each system has a file of its own. |

## Functions

| function | lines | paths | why more |
|---|--:|--:|---|
| ` + "`slots.F`" + ` | **70** | 16 |  |

## Documents

| document | words | why more |
|---|--:|---|
| ` + "`README.md`" + ` | 1,250 |  |

| another | table |
|---|---|
`

func TestSizesThatGrowAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		f    figure
		n    int
		page string // what is written by hand; empty: nothing
		want string // a part of what the test says; empty: nothing is wrong
	}{
		{"a bug is mended", figure{"slots", codeLines}, 100, "", ""},
		{"a package grows", figure{"slots", codeLines}, 101, "", `"100 + 50"`},
		{"without a reason", figure{"slots", codeLines}, 101, "`slots` | 100 + 50 | 7 |  |", "why, in a sentence"},
		{"with a bad one", figure{"slots", codeLines}, 101, "`slots` | 100 + 50 | 7 | needed |", "why, in a sentence"},
		{"with a reason", figure{"slots", codeLines}, 101, "`slots` | 100 + 50 | 7 | It learns to fly. |", ""},
		{"and grows past that", figure{"slots", codeLines}, 151, "`slots` | 100 + 50 | 7 | It learns to fly. |", `"100 + 100"`},
		{"and far past that", figure{"slots", codeLines}, 2501, "`slots` | 2,500 + 50 | 7 | It learns to fly. |", "no reason allows more than 2500"},
		{"a new package", figure{"wings", codeLines}, 2500, "", ""},
		{"a new large package", figure{"wings", codeLines}, 2501, "", "nothing may grow past 2500"},
		{"a new name", figure{"slots", publicNames}, 8, "", `"7 + 1"`},
		{"a large type grows", figure{"slots.T", methods}, 31, "", "nothing may grow past 25"},
		{"whatever the reason", figure{"slots.T", methods}, 31, "`slots.T` | 30 + 1 | 4 | It learns to fly. |", "no reason allows more than 25"},
		{"its methods lie in more files", figure{"slots.T", inFiles}, 6, "", `"4 + 2"`},
		{"a type becomes large", figure{"slots.U", methods}, 16, "", `"15 + 1"`},
		{"with a reason", figure{"slots.U", methods}, 16, "`slots.U` | 15 + 1 |  | It has a method for each question. |", ""},
		{"a type becomes too large", figure{"slots.U", methods}, 26, "", "nothing may grow past 25"},
		{"a long function grows", figure{"slots.F", lines}, 71, "", "nothing may grow past 60"},
		{"a function becomes long", figure{"slots.G", lines}, 61, "", "nothing may grow past 60"},
		{"another one winds", figure{"slots.G", paths}, 16, "", `"15 + 1"`},
		{"as it did", figure{"slots.F", paths}, 16, "", ""},
		{"a document grows", figure{"README.md", words}, 1251, "", `"1,250 + 250"`},
		{"a new document", figure{"docs/WINGS.md", words}, 9000, "", ""},
	} {
		page := onePage
		if name, _, ok := strings.Cut(c.page, " |"); ok {
			before, after, found := strings.Cut(page, "| "+name+" |")
			if _, rest, ok := strings.Cut(after, "\n"); found && ok {
				page = before + "| " + c.page + "\n" + rest
			} else {
				page = strings.Replace(page, "| `slots.T`", "| "+c.page+"\n| `slots.T`", 1)
			}
		}
		old, err := readSizes(page)
		if err != nil {
			t.Fatal(err)
		}
		fresh, wrong := old.next(map[figure]int{c.f: c.n})
		if all := strings.Join(wrong, "\n"); (c.want == "") != (all == "") || !strings.Contains(all, c.want) {
			t.Errorf("%s: %q, want %q", c.name, all, c.want)
		}
		if was, l := old.limits[c.f], fresh.limits[c.f]; was.all() > 0 && l.all() > was.all() || c.want != "" && l != was {
			t.Errorf("%s: the limit was %v and becomes %v", c.name, was, l)
		}
	}
}

func TestSizesThatShrinkLowerTheirLimits(t *testing.T) {
	t.Parallel()
	same := map[figure]int{
		{"slots", codeLines}: 75, {"slots", publicNames}: 7, {"slots.T", methods}: 30, {"slots.T", inFiles}: 5,
		{"slots.F", lines}: 70, {"slots.F", paths}: 16, {"README.md", words}: 1100,
	}
	for _, c := range []struct {
		f    figure
		n    int
		want string // a row of the page; empty: there is none
	}{
		{figure{"slots", codeLines}, 75, "| `slots` | 100 | 7 |  |"},
		{figure{"slots", codeLines}, 26, "| `slots` | 100 | 7 |  |"},
		{figure{"slots", codeLines}, 25, "| `slots` | 50 | 7 |  |"},
		{figure{"slots", publicNames}, 6, "| `slots` | 100 | 6 |  |"},
		{figure{"slots.T", methods}, 25, "| `slots.T` | 25 | 4 + 1 | Each system has a file of its own. |"},
		{figure{"slots.T", inFiles}, 4, "| `slots.T` | **30** | 4 |  |"},
		{figure{"slots.T", inFiles}, 3, "| `slots.T` | **30** | 3 |  |"},
		{figure{"slots.F", lines}, 61, "| `slots.F` | **61** | 16 |  |"},
		{figure{"slots.F", lines}, 60, "| `slots.F` |  | 16 |  |"},
		{figure{"slots.F", paths}, 15, "| `slots.F` | **70** |  |  |"},
		{figure{"README.md", words}, 1, "| `README.md` | 250 |  |"},
		{figure{"wings", codeLines}, 3, "| `wings` | 50 |  |  |"},
	} {
		now := maps.Clone(same)
		now[c.f] = c.n
		old, err := readSizes(onePage)
		if err != nil {
			t.Fatal(err)
		}
		fresh, wrong := old.next(now)
		page := fresh.written(onePage)
		if len(wrong) > 0 || !strings.Contains(page, c.want+"\n") || !strings.HasSuffix(page, "| another | table |\n|---|---|\n") {
			t.Errorf("%v %d: %q in\n%s", c.f, c.n, wrong, page)
		}
		again, err := readSizes(page)
		if err != nil || !maps.Equal(again.limits, fresh.limits) || again.written(page) != page {
			t.Errorf("%v %d: the page is read as another one: %v", c.f, c.n, err)
		}
	}
	old, _ := readSizes(onePage)
	if fresh, _ := old.next(nil); len(fresh.limits) != 0 { // what is gone leaves the page
		t.Error(fresh)
	}
	for _, bad := range []string{"| `slots` | a hundred | 7 | |", "| `slots` | 100 | |", "| `slots` | 100 - 1 | 7 | |"} {
		if _, err := readSizes("## Packages\n" + bad + "\n"); err == nil {
			t.Errorf("a row may be %q", bad)
		}
	}
}
