package layers

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

var (
	tableRule  = regexp.MustCompile(`^\|[-: |]+\|$`) // what stands below the heads of a table
	linkTarget = regexp.MustCompile(`\]\(([^)#:]*)#([^)]+)\)`)
	ownAnchor  = regexp.MustCompile(`<a id="([^"]+)"`)
	linked     = regexp.MustCompile(`\[([^]]*)\]\([^)]*\)`)
)

// prose is a document without its blocks of code, which stay as empty lines.
func prose(text string) []string {
	lines := strings.Split(text, "\n")
	code := false
	for i, line := range lines {
		fence := strings.HasPrefix(line, "```")
		if code || fence {
			lines[i] = ""
		}
		code = code != fence
	}
	return lines
}

// strayRows are rows that belong to no table: a page shows them as bars and words.
func strayRows(f file) []string {
	var wrong []string
	row := func(line string) bool { return strings.HasPrefix(line, "|") }
	lines := prose(f.text)
	for i, line := range lines {
		if row(line) && (i == 0 || !row(lines[i-1])) && (i+1 == len(lines) || !tableRule.MatchString(lines[i+1])) {
			wrong = append(wrong, fmt.Sprintf("%s:%d is a row without a table", f.path, i+1))
		}
	}
	return wrong
}

// anchors are the places of a document that a link can lead to, named as GitHub does.
func anchors(f file) map[string]bool {
	known := map[string]bool{}
	for _, line := range prose(f.text) {
		for _, m := range ownAnchor.FindAllStringSubmatch(line, -1) {
			known[m[1]] = true
		}
		head := strings.TrimLeft(line, "#")
		if head == line || !strings.HasPrefix(head, " ") {
			continue
		}
		name := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, linked.ReplaceAllString(head[1:], "$1"))
		for n, one := 1, name; ; n++ {
			if !known[one] {
				known[one] = true
				break
			}
			one = fmt.Sprintf("%s-%d", name, n)
		}
	}
	return known
}

// deadAnchors are links of a document to places that are not there.
func deadAnchors(f file, files []file) []string {
	of := map[string]map[string]bool{}
	for _, other := range files {
		if path.Ext(other.path) == ".md" {
			of[other.path] = anchors(other)
		}
	}
	var wrong []string
	for i, line := range prose(f.text) {
		for _, m := range linkTarget.FindAllStringSubmatch(line, -1) {
			at := f.path
			if m[1] != "" {
				at = path.Join(path.Dir(f.path), m[1])
			}
			if known, document := of[at]; document && !known[m[2]] {
				wrong = append(wrong, fmt.Sprintf("%s:%d links to %s#%s, which is not there", f.path, i+1, at, m[2]))
			}
		}
	}
	return wrong
}

func TestDocumentsAreWellFormed(t *testing.T) {
	t.Parallel()
	files := repository(t)
	read := 0
	for _, f := range files {
		if path.Ext(f.path) != ".md" {
			continue
		}
		read++
		for _, w := range append(strayRows(f), deadAnchors(f, files)...) {
			t.Error(w)
		}
	}
	if read == 0 {
		t.Fatal("no document was read") // a check of nothing finds nothing
	}
}

func TestIllFormedDocumentsAreFound(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"words\n\n| 16 | a row |\n", "| a | b |", "```\n|---|\n```\n| a |\n"} {
		if strayRows(source(t, "docs/a.md", bad)) == nil {
			t.Errorf("a document may say %q", bad)
		}
	}
	for _, good := range []string{"| a | b |\n|---|--:|\n| 1 | 2 |\n", "```\n| a |\n```\n"} {
		if w := strayRows(source(t, "docs/a.md", good)); w != nil {
			t.Error(w)
		}
	}
	other := source(t, "docs/b.md", "# Two `words`, [linked](c.md)\n\n<a id=\"own\"></a>here\n\n## Twice\n## Twice\n```\n# no head\n```\n")
	for _, bad := range []string{"[x](b.md#two)", "[x](b.md#no-head)", "[x](#own)", "[x](b.md#twice-2)"} {
		if f := source(t, "docs/a.md", bad); deadAnchors(f, []file{f, other}) == nil {
			t.Errorf("a document may link to %q", bad)
		}
	}
	good := source(t, "docs/a.md", "# A\n[x](b.md#two-words-linked) [x](b.md#own) [x](b.md#twice-1) [x](#a) [x](https://example.org/#b) [x](../main.go#L3)")
	for _, w := range deadAnchors(good, []file{good, other}) {
		t.Error(w)
	}
}
