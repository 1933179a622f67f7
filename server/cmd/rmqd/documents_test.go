package main

import (
	"os"
	osexec "os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
)

// Each call of a service of rmqd that a document shows can be made: it has such flags.
func TestDocumentedServices(t *testing.T) {
	t.Parallel()
	calls := regexp.MustCompile("(?m)(?:^|`)(rmqd (?:serve|push|token|console)[^`\n]*)")
	found := 0
	for _, file := range []string{"README.md", "docs/HTTP.md", "docs/CONSOLE.md", "docs/WEBHOOKS.md", "docs/DEPLOYMENT.md", "docs/OPERATIONS.md", "docs/GUIDE.md", "examples/kubernetes/gateway.yaml"} {
		text, err := os.ReadFile("../../../" + file)
		must.Do(t, err)
		for _, shown := range calls.FindAllStringSubmatch(strings.ReplaceAll(string(text), "#\t", ""), -1) {
			found++
			words, err := osexec.Command("sh", "-c", `printf '%s\0' `+strings.TrimPrefix(shown[1], "rmqd ")).Output()
			must.Do(t, err)
			args := append(strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00"), "--help")
			if r := call(args...); r.code != 0 {
				t.Errorf("%s: %s: %s", file, shown[1], r.errs)
			}
		}
	}
	if found < 17 {
		t.Errorf("only %d calls were found", found)
	}
}
