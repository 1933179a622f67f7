package producer_test

import (
	"os"
	"strings"
	"testing"
)

// The code in README.md is the one that Example runs.
func TestReadmeShowsTheExample(t *testing.T) {
	example, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(example), "\nfunc sendSome(")
	body, _, ended := strings.Cut(rest, "\n}\n")
	if !found || !ended {
		t.Fatal("example_test.go has no function sendSome")
	}
	if !strings.Contains(string(readme), "```go\nfunc sendSome("+body+"\n}\n```\n") {
		t.Error("README.md does not show sendSome as it stands in producer/example_test.go")
	}
}
