package layers

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

// Each number with a unit in these documents is a promise, and stands in a promises_test.go of the package that keeps it:
// but for the numbers that are named here, with what they are.
var promising = map[string]struct {
	sections map[string]string // with all below them
	phrases  map[string]string
}{
	"README.md":          {readmeSections, readmePhrases},
	"docs/REFERENCE.md":  {referenceSections, referencePhrases},
	"docs/PROTOCOL.md":   {protocolSections, protocolPhrases},
	"docs/DEPLOYMENT.md": {deploymentSections, deploymentPhrases},
	"docs/HTTP.md":       {nil, httpPhrases},
	"docs/JOURNAL.md":    {journalSections, journalPhrases},
	"docs/CONSOLE.md":    {nil, consolePhrases},
}

// claim is one call of Says: a phrase of a document that a test compares with the code.
type claim struct{ document, phrase string }

// claimsOf are those of a file, and what is wrong with them.
func claimsOf(f file) (claims []claim, wrong []string) {
	named := map[string]string{} // documents, by the variables that stand for them
	constants := map[string]bool{}
	document := func(x ast.Expr) string {
		if id, ok := x.(*ast.Ident); ok {
			return named[id.Name]
		}
		if call, ok := x.(*ast.CallExpr); ok && len(call.Args) == 2 && isSelector(call.Fun, "promises", "Of") {
			return text(call.Args[1])
		}
		return ""
	}
	ast.Inspect(f.code, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GenDecl:
			for _, spec := range n.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok && n.Tok == token.CONST {
					for i, id := range v.Names {
						constants[id.Name] = i < len(v.Values) && written(v.Values[i], nil)
					}
				}
			}
		case *ast.AssignStmt:
			if id, ok := n.Lhs[0].(*ast.Ident); ok && len(n.Rhs) == 1 && document(n.Rhs[0]) != "" {
				named[id.Name] = document(n.Rhs[0])
			}
		case *ast.CallExpr:
			says, ok := n.Fun.(*ast.SelectorExpr)
			if !ok || says.Sel.Name != "Says" || len(n.Args) != 3 {
				return true
			}
			c := claim{document(says.X), text(n.Args[0])}
			switch {
			case c.document == "" || c.phrase == "":
				wrong = append(wrong, fmt.Sprintf("%s: a call of Says whose document or phrase is not written out", f.path))
			case !written(n.Args[1], constants):
				wrong = append(wrong, fmt.Sprintf("%s: the number for %q is no literal", f.path, c.phrase))
			default:
				claims = append(claims, c)
			}
		}
		return true
	})
	return claims, wrong
}

func isSelector(x ast.Expr, of, name string) bool {
	s, ok := x.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	id, ok := s.X.(*ast.Ident)
	return ok && id.Name == of && s.Sel.Name == name
}

// text is what a literal of a string says.
func text(x ast.Expr) string {
	lit, ok := x.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return ""
	}
	s, _ := strconv.Unquote(lit.Value) // the parser has checked it
	return s
}

// written reports whether a value is made of literals, units of time and the given constants only.
func written(x ast.Expr, constants map[string]bool) bool {
	good := true
	ast.Inspect(x, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			id, ok := n.X.(*ast.Ident)
			good = good && ok && id.Name == "time"
			return false
		case *ast.Ident:
			good = good && constants[n.Name]
		case *ast.CallExpr:
			good = false
		}
		return true
	})
	return good
}

// section is a part of a document below one head, without code.
type section struct{ head, above, text string }

func sectionsOf(document string) (all []section) {
	var at section
	var lines []string
	end := func() {
		at.text = promises.Prose(strings.Join(lines, "\n"))
		all, lines = append(all, at), nil
	}
	for _, line := range prose(document) {
		head := strings.TrimLeft(line, "#")
		level := len(line) - len(head)
		if level == 0 || !strings.HasPrefix(head, " ") {
			lines = append(lines, line)
			continue
		}
		end()
		at = section{head: head[1:], above: at.above}
		if level <= 2 {
			at.above = head[1:]
		}
	}
	end()
	return all
}

// unclaimed are the numbers of a document that no test names, and what else is wrong with what is named.
func unclaimed(f file, claims []claim) (wrong []string) {
	apart := promising[f.path]
	whole := promises.Prose(f.text)
	known := slices.Collect(maps.Keys(apart.phrases))
	for _, c := range claims {
		if c.document == f.path {
			known = append(known, c.phrase)
		}
	}
	for _, phrase := range known {
		if n := strings.Count(whole, phrase); n != 1 {
			wrong = append(wrong, fmt.Sprintf("%s says %q %d times, not once", f.path, phrase, n))
		}
	}
	heads := map[string]bool{}
	for _, s := range sectionsOf(f.text) {
		heads[s.head] = true
		if apart.sections[s.head] != "" || apart.sections[s.above] != "" {
			continue
		}
		for _, at := range promises.NumbersAt(s.text) {
			if !slices.ContainsFunc(known, func(phrase string) bool { return covers(s.text, phrase, at) }) {
				around := s.text[max(0, at[0]-50):min(len(s.text), at[1]+30)]
				wrong = append(wrong, fmt.Sprintf("%s, %q: nothing proves %q in \"…%s…\"", f.path, s.head, s.text[at[0]:at[1]], strings.ToValidUTF8(around, "")))
			}
		}
	}
	for head := range apart.sections {
		if !heads[head] {
			wrong = append(wrong, fmt.Sprintf("%s has no part %q", f.path, head))
		}
	}
	return wrong
}

// covers reports whether a phrase stands in a text so that a part of the text is in it.
func covers(text, phrase string, part [2]int) bool {
	at := strings.Index(text, phrase)
	return at >= 0 && at <= part[0] && part[1] <= at+len(phrase)
}

func TestPromisesHaveTests(t *testing.T) {
	t.Parallel()
	files := repository(t)
	var claims []claim
	for _, f := range files {
		if path.Base(f.path) == "promises_test.go" && !within(f.path, "internal/testing") {
			some, wrong := claimsOf(f)
			claims = append(claims, some...)
			for _, w := range wrong {
				t.Error(w)
			}
		}
	}
	if len(claims) < 100 {
		t.Fatalf("%d promises were found", len(claims)) // a check of nothing finds nothing
	}
	for _, c := range claims {
		if _, known := promising[c.document]; !known {
			t.Errorf("%q is said by %s, which is none of the documents that promise", c.phrase, c.document)
		}
	}
	read := 0
	for _, f := range files {
		if _, is := promising[f.path]; is {
			read++
			for _, w := range unclaimed(f, claims) {
				t.Error(w)
			}
		}
	}
	if read != len(promising) {
		t.Errorf("%d of %d documents were read", read, len(promising))
	}
	t.Logf("%d promises", len(claims))
}

func TestMissingPromisesAreFound(t *testing.T) {
	t.Parallel()
	const head = "package a\n\nconst promised = 5 * time.Second\n\nfunc TestPromises(t *testing.T) {\n\tp := promises.Of(t, \"docs/HTTP.md\")\n"
	for line, good := range map[string]bool{
		`p.Says("for 50 ms", 50*time.Millisecond, owed)`:                         true,
		`p.Says("for 5 s", promised, owed)`:                                      true,
		`promises.Of(t, "docs/HTTP.md").Says("for 16", 16, n)`:                   true,
		`p.Says("for 50 ms", owed, owed)`:                                        false,
		`p.Says("for 50 ms", limits.Owed, owed)`:                                 false,
		`p.Says("for 50 ms", time.Duration(owed), owed)`:                         false,
		`p.Says(phrase, 16, n)`:                                                  false,
		`promises.Of(t, name).Says("for 16", 16, n)`:                             false,
		`q := promises.Of(t, name); q.Says("for 50 ms", 50*time.Millisecond, d)`: false,
	} {
		claims, wrong := claimsOf(source(t, "a/promises_test.go", head+line+"\n}\n"))
		if (len(claims) == 1) != good || (wrong == nil) != good {
			t.Errorf("%s: %q, %q", line, claims, wrong)
		}
	}
	const document = "# A\n\nIt waits for 50 ms\nat most, 16 times.\n\n```\n70 s\n```\n"
	claims := []claim{{"docs/a.md", "waits for 50 ms at most"}, {"docs/b.md", "of no matter"}}
	for text, good := range map[string]bool{
		document:                     true,
		document + "## B\nOr 5 min.": false, // a new number
		"# A\n\nIt waits for 60 ms at most, 16 times.\n":                   false, // another one
		document + "It waits for 50 ms at most.":                           false, // which of the two?
		"# A\n\nIt waits for 50 ms.\n\n# B\n\nIt waits for 50 ms at most.": false,
	} {
		if wrong := unclaimed(source(t, "docs/a.md", text), claims); (wrong == nil) != good {
			t.Errorf("%q: %q", text, wrong)
		}
	}
}
