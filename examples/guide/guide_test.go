package guide_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// others are files of modules that this one cannot import, with code of the guide. They
// are compiled and run there.
var others = []string{"../../bench/fromasynq_test.go", "../../rmqprom/example_test.go", "../../rmqotel/example_test.go",
	"../../rmqhttp/example_test.go", "../../rmq/sharing_test.go"}

// All code of the guide stands in these files, and what an example here prints is
// compared. That no other document shows code that no test has is checked by
// TestDocumentsShowCodeThatRuns.
func TestGuideShowsWhatRuns(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for _, name := range append(names, others...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		code, err := parser.ParseFile(token.NewFileSet(), name, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range doc.Examples([]*ast.File{code}...) {
			if e.Output == "" && !slices.Contains(others, name) {
				t.Errorf("%s: Example%s prints nothing, so it is not run", name, e.Name)
			}
		}
		sources = append(sources, flat(string(text)))
	}
	guide, err := os.ReadFile("../../docs/GUIDE.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(guide), "```go\n")[1:]
	if len(blocks) == 0 {
		t.Fatal("the guide shows no code") // a check of nothing finds nothing
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "```")
		if strings.HasPrefix(block, "package main\n") {
			continue // TestServiceOfTheGuide runs it
		}
		if !strings.Contains(strings.Join(sources, ""), "\n"+flat(block)) {
			t.Errorf("GUIDE.md shows what no example runs:\n%s", block)
		}
	}
}

// The contents at the beginning of the guide lead to every task.
func TestGuideHasContents(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/GUIDE.md")
	if err != nil {
		t.Fatal(err)
	}
	contents, tasks, _ := strings.Cut(string(text), "\n## ")
	for _, task := range strings.Split(tasks, "\n## ") {
		title, _, _ := strings.Cut(task, "\n")
		anchor := strings.NewReplacer(" ", "-", ",", "", ":", "").Replace(strings.ToLower(title))
		if !strings.Contains(contents, "(#"+anchor+")") {
			t.Errorf("the contents of GUIDE.md do not have %q (#%s)", title, anchor)
		}
	}
}

// flat is code without its indentation.
func flat(code string) string {
	lines := strings.Split(code, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}
