package fourthkind

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
)

const root = "../../.."

// kind is what a fourth kind takes: in each file some texts, which stand there once, and what stands there then.
var kind = map[string][][2]string{
	"message/kind.go": {
		{"\tKindFixedTime\n)", "\tKindFixedTime\n\tKindLatest\n)"},
		{"\tKindFixedTime:  {name: \"fixed-time\", timed: true},\n", "\tKindFixedTime:  {name: \"fixed-time\", timed: true},\n\tKindLatest: {name: \"latest\", timed: true},\n"},
	},
	"message/message.go": {
		{"func (FixedTime) sealed()  {}\n", `func (FixedTime) sealed()  {}

type Latest struct {
	Content, SlotBasis string
	In                 time.Duration
	Unique, TTL        time.Duration
	Headers            map[string]string
}

func (Latest) sealed() {}
`},
		{"\treturn Common{}, false\n", "\tif m, ok := m.(Latest); ok {\n\t\treturn Common{m.Content, m.SlotBasis, m.Unique, m.TTL, m.Headers}, true\n\t}\n\treturn Common{}, false\n"},
		{"\treturn nil // and not m", "\tif m, ok := m.(Latest); ok {\n\t\tm.Content, m.SlotBasis, m.Unique, m.TTL, m.Headers = c.Content, c.SlotBasis, c.Unique, c.TTL, c.Headers\n\t\treturn m\n\t}\n\treturn nil // and not m"},
	},
	"internal/checked/message.go": {
		{"\tcase message.FixedTime:\n", "\tcase message.Latest:\n\t\tc.Kind, c.Value, c.FromNow, err = message.KindLatest, ceilMillis(m.In), true, span(\"In\", m.In)\n\tcase message.FixedTime:\n"},
		{"\tcase message.KindFixedTime:\n", "\tcase message.KindLatest:\n\t\tm = message.Latest{In: span}\n\tcase message.KindFixedTime:\n"},
	},
	"rmq/message.go": {
		{"type FixedTime = message.FixedTime\n", "type FixedTime = message.FixedTime\n\ntype Latest = message.Latest\n\nconst KindLatest = message.KindLatest\n"},
	},
	"internal/text/wire/draft.go": {
		{"\tcase d.At != nil && t.Kind == message.KindFixedTime:\n", "\tcase d.In != nil && t.Kind == message.KindLatest:\n\t\tm = message.Latest{Content: d.Content, SlotBasis: d.Basis, In: *d.In, Unique: unique, TTL: ttl, Headers: d.Headers}\n\tcase d.At != nil && t.Kind == message.KindFixedTime:\n"},
		{"var needs = map[message.Kind]struct{ field, limit string }{\n", "var needs = map[message.Kind]struct{ field, limit string }{\n\tmessage.KindLatest: {\"in\", \"a time\"},\n"},
	},
}

// TestFourthKind runs the tests of testdata, each in its package, in a copy of the module with the kind.
func TestFourthKind(t *testing.T) {
	t.Parallel()
	if len(kind) > 6 {
		t.Errorf("a fourth kind takes %d files: %q", len(kind), slices.Sorted(maps.Keys(kind)))
	}
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	replace := func(path, text string) {
		t.Helper()
		at, err := filepath.Abs(filepath.Join(root, path))
		must.Do(t, err)
		changed := filepath.Join(dir, strings.ReplaceAll(path, "/", "_"))
		must.Do(t, os.WriteFile(changed, []byte(text), 0o600))
		overlay.Replace[at] = changed
	}
	for path, changes := range kind {
		source, err := os.ReadFile(filepath.Join(root, path))
		must.Do(t, err)
		text := string(source)
		for _, c := range changes {
			if n := strings.Count(text, c[0]); n != 1 {
				t.Fatalf("%s has %d times instead of once: %s", path, n, c[0])
			}
			text = strings.Replace(text, c[0], c[1], 1)
		}
		replace(path, text)
	}
	args := []string{"test", "-vet=off", "-count=1", "-run", "FourthKind", "-v"}
	doors, err := filepath.Glob("testdata/*.go.txt")
	must.Do(t, err)
	for _, door := range doors {
		text, err := os.ReadFile(door)
		must.Do(t, err)
		pkg := strings.ReplaceAll(strings.TrimSuffix(filepath.Base(door), ".go.txt"), "_", "/")
		replace(pkg+"/fourthkind_test.go", string(text))
		args = append(args, "./"+pkg)
	}
	list, err := json.Marshal(overlay)
	must.Do(t, err)
	listed := filepath.Join(dir, "overlay.json")
	must.Do(t, os.WriteFile(listed, list, 0o600))
	cmd := exec.Command("go", slices.Insert(args, 1, "-overlay", listed)...)
	cmd.Dir = root
	said, err := cmd.CombinedOutput()
	if passed := strings.Count(string(said), "--- PASS: TestFourthKind"); err != nil || passed != len(doors) {
		t.Errorf("%d of %d doors: %v\n%s", passed, len(doors), err, said)
	}
}

// asksForKinds is a branch of a switch over the types of messages.
var asksForKinds = regexp.MustCompile(`(?m)^\s*case (message\.|rmq\.)?(RangeMerge|Priority|FixedTime)\b[^.]*:$`)

// asksForKind is a comparison with one kind.
var asksForKind = regexp.MustCompile(`[!=]= (message\.|rmq\.)?Kind(RangeMerge|Priority|FixedTime)\b`)

// Nobody else asks which of the three a message is: there a fourth one would be passed over. What is written for people
// says which fields it has for which kind; all others ask a kind what it means.
func TestKindsAreToldApartInTwoFiles(t *testing.T) {
	t.Parallel()
	var asking, comparing []string
	must.Do(t, filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testing" || d.Name() == "testdata" || d.Name() == ".git" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		name := filepath.ToSlash(strings.TrimPrefix(path, filepath.FromSlash(root)+string(filepath.Separator)))
		if asksForKinds.Match(text) {
			asking = append(asking, name)
		}
		if asksForKind.Match(text) && !strings.HasPrefix(name, "bench/") && !strings.HasPrefix(name, "examples/") {
			comparing = append(comparing, name)
		}
		return err
	}))
	if want := []string{"internal/checked/message.go", "message/message.go"}; !slices.Equal(asking, want) {
		t.Errorf("%q tell kinds of messages apart, and only %q should", asking, want)
	}
	if want := []string{"internal/text/wire/draft.go"}; !slices.Equal(comparing, want) {
		t.Errorf("%q compare with one kind, and only %q should", comparing, want)
	}
}
