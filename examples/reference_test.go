package examples_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/rmq"
)

// The table of options in REFERENCE.md has a row for each field of rmq.Config, and the
// text below it names each of rmq.ListenOptions.
func TestReferenceListsEveryOption(t *testing.T) {
	t.Parallel()
	reference, err := os.ReadFile("../docs/REFERENCE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(reference), "\n## Configuration\n")
	section, _, _ = strings.Cut(section, "\n## ")
	table, below, _ := strings.Cut(section, "\n`rmq.ListenOptions`")
	for _, f := range reflect.VisibleFields(reflect.TypeFor[rmq.Config]()) {
		if !strings.Contains(table, "\n| `"+f.Name+"` |") {
			t.Errorf("REFERENCE.md has no row for rmq.Config.%s", f.Name)
		}
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[rmq.ListenOptions]()) {
		if f.IsExported() && !strings.Contains(below, "`"+f.Name+"`") {
			t.Errorf("REFERENCE.md does not name rmq.ListenOptions.%s", f.Name)
		}
	}
}
