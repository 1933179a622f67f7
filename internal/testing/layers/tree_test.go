package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// module is the path of the main module; packages are named relative to it.
const module = "github.com/slotmq/go-rmq"

// file is one file of the repository.
type file struct {
	path string // from the root, with slashes
	text string
	code *ast.File // nil unless it is Go
}

func (f file) goFile() bool   { return f.code != nil }
func (f file) test() bool     { return strings.HasSuffix(f.path, "_test.go") }
func (f file) pkg() string    { return path.Dir(f.path) }
func (f file) top() string    { return top(f.path) }
func top(p string) string     { first, _, _ := strings.Cut(p, "/"); return first }
func within(p, d string) bool { return p == d || strings.HasPrefix(p, d+"/") }

// line is the number of the line where n begins.
func (f file) line(n ast.Node) string {
	return strconv.Itoa(1 + strings.Count(f.text[:n.Pos()-f.code.FileStart], "\n"))
}

// imports are the import paths of a Go file.
func (f file) imports() []string {
	var paths []string
	for _, spec := range f.code.Imports {
		p, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		paths = append(paths, p)
	}
	return paths
}

// source makes a file from text, for the tree and for the bad examples.
func source(t *testing.T, name, text string) file {
	t.Helper()
	f := file{path: name, text: text}
	if strings.HasSuffix(name, ".go") && !strings.Contains(name, "testdata/") {
		code, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		f.code = code
	}
	return f
}

// root is the folder of the main module, and of all others.
const root = "../../.."

// repository is every text file below the root. It is read once for all tests.
func repository(t *testing.T) []file {
	t.Helper()
	treeOnce.Do(func() { tree = read(t) })
	if tree == nil {
		t.Fatal("the tree could not be read")
	}
	return tree
}

var (
	treeOnce sync.Once
	tree     []file
)

// read reads them. Folders whose name begins with a dot belong to tools, except those with
// instructions for the machines that test.
func read(t *testing.T) []file {
	t.Helper()
	if mod, err := os.ReadFile(filepath.Join(root, "go.mod")); err != nil || !strings.HasPrefix(string(mod), "module "+module+"\n") {
		t.Fatalf("%s is not the root of %s: %v", root, module, err)
	}
	var files []file
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if d.Name() != ".ci" && d.Name() != ".github" && strings.HasPrefix(d.Name(), ".") && name != root {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || name == filepath.Join(root, ".git") { // a file in a worktree of git
			return nil
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if text := string(b); !strings.Contains(text, "\x00") {
			rel, _ := filepath.Rel(root, name) // cannot fail below root
			files = append(files, source(t, filepath.ToSlash(rel), text))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// ownModules are the folders below the root which are modules of their own.
func ownModules(files []file) []string {
	var dirs []string
	for _, f := range files {
		if path.Base(f.path) == "go.mod" && f.path != "go.mod" {
			dirs = append(dirs, f.pkg())
		}
	}
	return dirs
}
