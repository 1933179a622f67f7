package layers

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	logCall  = regexp.MustCompile(`(?i:log|logger|logof\([^"]*?\)|log\(\))\.(Warn|Error|Log)\((?:[^"]*?, )?"((?:[^"\\]|\\.)*)"`)
	logRow   = regexp.MustCompile("(?m)^\\| (`.*?) \\| (Warn|Error) \\|")
	logQuote = regexp.MustCompile("`([^`]+)`")
)

// Each line that a program which uses RMQ may log at Warn or Error is in the table of docs/OPERATIONS.md, which names none
// that is not logged.
func TestLogLinesAreExplained(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(root, "docs", "OPERATIONS.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "\n## What the log says\n")
	table, _, _ = strings.Cut(table, "\n## ")
	levels := map[string]string{}
	for _, row := range logRow.FindAllStringSubmatch(table, -1) {
		for _, line := range logQuote.FindAllStringSubmatch(row[1], -1) {
			levels[line[1]] = row[2]
		}
	}
	explained := func(line, level string) bool {
		for begin, at := range levels {
			if strings.HasPrefix(line, begin) && (at == level || level == "Log") {
				return true
			}
		}
		return false
	}
	found, literals := 0, map[string]bool{}
	folders := []string{"consumer", "poll", "producer", "rmq", "journal", "inspector", "internal"}
	for _, f := range repository(t) {
		if !f.goFile() || f.test() || !slices.Contains(folders, top(f.path)) || within(f.path, "internal/commands") || slices.ContainsFunc(gear, func(dir string) bool { return within(f.path, dir) }) {
			continue
		}
		for _, call := range logCall.FindAllStringSubmatch(f.text, -1) {
			found++
			if !explained(call[2], call[1]) {
				t.Errorf("%s logs %q by %s, which docs/OPERATIONS.md does not explain", f.path, call[2], call[1])
			}
		}
		for begin := range levels {
			if strings.Contains(f.text, `"`+begin) {
				literals[begin] = true
			}
		}
	}
	for begin := range levels {
		if !literals[begin] {
			t.Errorf("docs/OPERATIONS.md explains %q, which nothing logs", begin)
		}
	}
	if found < 50 || len(levels) < 40 {
		t.Errorf("%d calls, %d lines", found, len(levels)) // a check of nothing finds nothing
	}
}
