package layers

import (
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// The kinds of figures, as the page names them.
const (
	codeLines   = "code lines"
	publicNames = "public names"
	methods     = "methods"
	inFiles     = "files"
	lines       = "lines"
	paths       = "paths"
	words       = "words"
)

// manyMethods is from where a type's files are counted, too.
const manyMethods = 15

// figure names one figure: of what, and which.
type figure struct{ of, column string }

// gear are the folders that are no product: what measures it, shows it and tests it.
var gear = []string{"bench", "examples", "internal/release", "internal/testing", "internal/webtest", "server/gatewaytest", "server/journaltest"}

// product tells whether a file belongs to what users get, of whichever module.
func (f file) product() bool {
	apart := func(dir string) bool { return within(f.path, dir) }
	code := f.goFile() && !f.test() || path.Ext(f.path) == ".lua"
	return code && !slices.ContainsFunc(gear, apart) && !strings.Contains(f.path, "testdata/")
}

// public tells whether users can import the package of a file.
func (f file) public() bool {
	return f.goFile() && f.code.Name.Name != "main" && !slices.Contains(strings.Split(f.pkg(), "/"), "internal")
}

// bare is the text of a file without comments, line by line as it was.
func (f file) bare() string {
	if !f.goFile() {
		lines := strings.Split(f.text, "\n")
		for i, line := range lines {
			lines[i], _, _ = strings.Cut(line, "--") // no string of a script holds that
		}
		return strings.Join(lines, "\n")
	}
	text := []byte(f.text)
	for _, group := range f.code.Comments {
		for _, c := range group.List {
			for i := c.Pos(); i < c.End(); i++ {
				if at := i - f.code.FileStart; text[at] != '\n' {
					text[at] = ' '
				}
			}
		}
	}
	return string(text)
}

// filled counts the lines that are not blank.
func filled(bare string) int {
	n := 0
	for line := range strings.Lines(bare) {
		if strings.TrimSpace(line) != "" {
			n++
		}
	}
	return n
}

// exported counts the names of a file that other packages can use: not methods, which are
// found with their types.
func exported(code *ast.File) int {
	n := 0
	count := func(names ...*ast.Ident) {
		for _, name := range names {
			if name.IsExported() {
				n++
			}
		}
	}
	for _, d := range code.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil {
				count(d.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					count(spec.Name)
				case *ast.ValueSpec:
					count(spec.Names...)
				}
			}
		}
	}
	return n
}

// receiver is the type that a method belongs to; empty for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	t := d.Recv.List[0].Type
	for {
		switch x := t.(type) {
		case *ast.StarExpr:
			t = x.X
		case *ast.ParenExpr:
			t = x.X
		case *ast.IndexExpr:
			t = x.X
		case *ast.IndexListExpr:
			t = x.X
		case *ast.Ident:
			return x.Name
		}
	}
}

// branches is the cyclomatic number of a function: one, and one for each branch, loop and case
// and each && and ||, also in the functions written inside it.
func branches(d *ast.FuncDecl) int {
	n := 1
	ast.Inspect(d, func(x ast.Node) bool {
		switch x := x.(type) {
		case *ast.IfStmt, *ast.ForStmt, *ast.RangeStmt:
			n++
		case *ast.CaseClause:
			if x.List != nil {
				n++
			}
		case *ast.CommClause:
			if x.Comm != nil {
				n++
			}
		case *ast.BinaryExpr:
			if x.Op == token.LAND || x.Op == token.LOR {
				n++
			}
		}
		return true
	})
	return n
}

// measure counts everything that has a limit.
func measure(files []file) map[figure]int {
	sizes := map[figure]int{}
	methodsOf, filesOf := map[string]map[string]bool{}, map[string]map[string]bool{}
	packages := map[string]bool{}
	for _, f := range files {
		packages[f.pkg()] = packages[f.pkg()] || f.goFile()
	}
	for _, f := range files {
		if path.Ext(f.path) == ".md" && f.path != sizesPage {
			sizes[figure{f.path, words}] = len(strings.Fields(f.text))
		}
		if !f.product() {
			continue
		}
		bare := f.bare()
		of := f.pkg()
		for !packages[of] && of != "." { // steps of a script, in a folder of its own
			of = path.Dir(of)
		}
		sizes[figure{of, codeLines}] += filled(bare)
		if !f.goFile() { // a script, or a step of one, is one function
			sizes[figure{f.path, lines}] = filled(bare)
			continue
		}
		if f.public() {
			sizes[figure{f.pkg(), publicNames}] += exported(f.code)
		}
		for _, d := range f.code.Decls {
			d, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			name := f.pkg() + "." + d.Name.Name
			if r := receiver(d); r != "" {
				of := f.pkg() + "." + r
				name = of + "." + d.Name.Name
				note(methodsOf, of, d.Name.Name)
				note(filesOf, of, f.path)
			}
			// A function may stand in several files, for one system each.
			text := f.text[d.Pos()-f.code.FileStart : d.End()-f.code.FileStart]
			sizes[figure{name, lines}] = max(sizes[figure{name, lines}], strings.Count(text, "\n")+1)
			sizes[figure{name, paths}] = max(sizes[figure{name, paths}], branches(d))
		}
	}
	for of, set := range methodsOf {
		sizes[figure{of, methods}] = len(set)
		if len(set) > manyMethods {
			sizes[figure{of, inFiles}] = len(filesOf[of])
		}
	}
	return sizes
}

func note(sets map[string]map[string]bool, of, what string) {
	if sets[of] == nil {
		sets[of] = map[string]bool{}
	}
	sets[of][what] = true
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	got := measure([]file{
		source(t, "slots/a.go", `// Package slots, whose comments do not count.
package slots

import "fmt" // but this line does

/* nor
these */ const A, b = 1, 2

type T[K any] struct{ X int }

var (
	V = 1
	C    = "// no comment"
)

// F is a function of four lines with all that branches.
func F(c chan int) {
	for range 3 { if A > 1 && b > 1 || b > 2 { switch { case A == 1, A == 2: fmt.Println(); default: } } }
	func() { for { select { case <-c: default: } } }()
}

func (t *T[K]) M() {}
func (t T[K]) Last() {}
`),
		source(t, "slots/b_linux.go", "package slots\nfunc (t *T[K]) N() {}\nfunc g() {}"),
		source(t, "slots/b_darwin.go", "package slots\nfunc (t *T[K]) N() {}\nfunc g() {\n}"),
		source(t, "slots/a_test.go", "package slots\nfunc Not() {}"),
		source(t, "luascripts/turn.lua", "-- a script\n\nlocal a = 1 -- one\n  -- two\nreturn a\n"),
		source(t, "luascripts/turn/take.lua", "return b\n"),
		source(t, "luascripts/turn.go", "package luascripts\n"),
		source(t, "luascripts/testdata/old.lua", "return 1"),
		source(t, "cmd/rmq/main.go", "package main\nfunc Main() {}"),
		source(t, "internal/servers/wait/wait.go", "package wait\nfunc Wait() {}"),
		source(t, "internal/testing/must/must.go", "package must\nfunc Do() {}"),
		source(t, "bench/main.go", "package main"),
		source(t, "docs/A.md", "# Five words,\nnot four: `x`"),
		source(t, sizesPage, "itself"),
	})
	want := map[figure]int{
		{"slots", codeLines}: 14 + 3 + 4, {"slots", publicNames}: 5,
		{"slots.T", methods}: 3, {"slots.F", lines}: 4, {"slots.F", paths}: 8,
		{"slots.T.M", lines}: 1, {"slots.T.M", paths}: 1, {"slots.T.Last", lines}: 1, {"slots.T.Last", paths}: 1,
		{"slots.T.N", lines}: 1, {"slots.T.N", paths}: 1, {"slots.g", lines}: 2, {"slots.g", paths}: 1,
		{"luascripts", codeLines}: 4, {"luascripts", publicNames}: 0, {"luascripts/turn.lua", lines}: 2, {"luascripts/turn/take.lua", lines}: 1,
		{"cmd/rmq", codeLines}: 2, {"cmd/rmq.Main", lines}: 1, {"cmd/rmq.Main", paths}: 1,
		{"internal/servers/wait", codeLines}: 2, {"internal/servers/wait.Wait", lines}: 1, {"internal/servers/wait.Wait", paths}: 1,
		{"docs/A.md", words}: 6,
	}
	for f, n := range want {
		if got[f] != n {
			t.Errorf("%v: %d, want %d", f, got[f], n)
		}
		delete(got, f)
	}
	for f, n := range got {
		t.Errorf("%v: %d, want nothing", f, n)
	}
}
