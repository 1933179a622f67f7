package rmq

import (
	"go/ast"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
)

// packages returns what the Go files of a folder declare, with its comments.
func declared(t *testing.T, folder string) *doc.Package {
	t.Helper()
	set := token.NewFileSet()
	var files []*ast.File
	paths, err := filepath.Glob(filepath.Join(folder, "*.go"))
	must.Do(t, err)
	for _, path := range paths {
		if !strings.HasSuffix(path, "_test.go") {
			file, err := parser.ParseFile(set, path, nil, parser.ParseComments)
			must.Do(t, err)
			files = append(files, file)
		}
	}
	pkg, err := doc.NewFromFiles(set, files, "github.com/slotmq/go-rmq/"+filepath.Base(folder), doc.PreserveAST)
	must.Do(t, err)
	return pkg
}

// form is what a type has: the names and types of its fields or methods in their order, or
// what it is made of.
func form(t *testing.T, x ast.Expr) string {
	t.Helper()
	text := func(x ast.Expr) string {
		var b strings.Builder
		must.Do(t, format.Node(&b, token.NewFileSet(), x))
		return strings.NewReplacer("message.", "", "consumer.", "").Replace(b.String())
	}
	list := func(fields *ast.FieldList) string {
		var all []string
		for _, f := range fields.List {
			if f.Names == nil {
				all = append(all, text(f.Type)) // embedded
			}
			for _, name := range f.Names {
				all = append(all, name.Name+" "+text(f.Type))
			}
		}
		slices.Sort(all) // a comment may group them
		return strings.Join(all, "; ")
	}
	switch x := x.(type) {
	case *ast.StructType:
		return list(x.Fields)
	case *ast.InterfaceType:
		return list(x.Methods)
	}
	return text(x)
}

// Who reads the documentation of rmq sees what each type has without a look at another
// package. What the comments show must be what there is.
func TestCommentsShowTheTypes(t *testing.T) {
	t.Parallel()
	there := map[string]string{}
	for _, folder := range []string{"../message", "../producer", "../consumer", "../inspector"} {
		for _, typ := range declared(t, folder).Types {
			there[filepath.Base(folder)+"."+typ.Name] = form(t, typ.Decl.Specs[0].(*ast.TypeSpec).Type)
		}
	}
	shown := map[string]bool{}
	for _, typ := range declared(t, ".").Types {
		spec := typ.Decl.Specs[0].(*ast.TypeSpec)
		of, isAlias := spec.Type.(*ast.SelectorExpr)
		if !isAlias {
			continue
		}
		want := there[of.X.(*ast.Ident).Name+"."+of.Sel.Name]
		if open := map[string]bool{"Kind": true, "Outcome": true, "Message": true, "What": true}; open[typ.Name] {
			continue // numbers with names, and what only this module can implement
		}
		var code []string
		for _, line := range strings.Split(typ.Doc, "\n") {
			if line, isCode := strings.CutPrefix(line, "\t"); isCode || line == "" && len(code) > 0 {
				code = append(code, line)
			}
		}
		file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n"+strings.Join(code, "\n"), 0)
		if err != nil || len(file.Decls) == 0 {
			t.Errorf("the comment of %s shows no declaration: %v", typ.Name, err)
			continue
		}
		if got := form(t, file.Decls[0].(*ast.GenDecl).Specs[0].(*ast.TypeSpec).Type); got != want {
			t.Errorf("the comment of %s shows\n%s\nand it is\n%s", typ.Name, got, want)
		}
		shown[typ.Name] = true
	}
	if len(shown) < 13 {
		t.Errorf("only %v were looked at", slices.Sorted(maps.Keys(shown)))
	}
}
