package protocol_test

import (
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestStateOfAScript(t *testing.T) {
	t.Parallel()
	damages := []damage{{"one", driven, "a", "b"}, {"two", "of a trial", "c", "d"}}
	tests := map[string]string{
		"world_test.go":   "package p\n",
		"drive_test.go":   "package p\n\nfunc f() {\n\treturn 1\n}\n",
		"ill_test.go":     "package p\n\nvar x = []trial{{name: \"of a trial\"}}\n",
		"other_test.go":   "package p\n\nvar y = []trial{{name: \"of another\"}}\n",
		"damages_test.go": "package p // of a trial\n",
	}
	was := stateOf("source", damages, tests)
	with := func(file, text string) map[string]string {
		changed := maps.Clone(tests)
		changed[file] = text
		return changed
	}
	for what, another := range map[string]string{
		"source":          stateOf("source ", damages, tests),
		"fewer damages":   stateOf("source", damages[:1], tests),
		"another damage":  stateOf("source", []damage{damages[0], {"two", "of a trial", "c", "e"}}, tests),
		"another trial":   stateOf("source", []damage{damages[0], {"two", "of another", "c", "d"}}, tests),
		"its trial":       stateOf("source", damages, with("ill_test.go", "package p\n\nvar x = []trial{{name: \"of a trial\", live: true}}\n")),
		"the driver":      stateOf("source", damages, with("drive_test.go", "package p\n\nfunc f() {\n\treturn 2\n}\n")),
		"more of it":      stateOf("source", damages, with("drive_more_test.go", "package p\n")),
		"world":           stateOf("source", damages, with("world_test.go", "package p\n\nvar z int\n")),
		"lines of a test": stateOf("source", damages, with("drive_test.go", "package p\n\nfunc f() {\n\treturn\n1\n}\n")),
	} {
		if another == was {
			t.Errorf("%s: the state is the same", what)
		}
	}
	for what, same := range map[string]string{
		"nothing":           stateOf("source", slices.Clone(damages), tests),
		"another test":      stateOf("source", damages, with("other_test.go", "package p\n")),
		"a table":           stateOf("source", damages, with("damages_test.go", "package p\n")),
		"comments":          stateOf("source", damages, with("drive_test.go", "// Why.\npackage p\n\nfunc f() { // and how\n\treturn 1\n}\n")),
		"another new file":  stateOf("source", damages, with("new_test.go", "package p\n")),
		"a comment's trial": stateOf("source", damages, with("other_test.go", "package p // name: of a trial\n")),
	} {
		if same != was {
			t.Errorf("%s: the state is another", what)
		}
	}
}

// Of each trial that is named, and of the driver, the files are found.
func TestStatesConcernAllWhoNotice(t *testing.T) {
	t.Parallel()
	files, tests := map[string]bool{}, testFiles(t)
	for script, damages := range damagesOf {
		for _, d := range damages {
			found := false
			for file, text := range tests {
				if file != "world_test.go" && concerns(file, text, map[string]bool{d.noticed: true}) {
					found, files[file] = true, true
				}
			}
			if !found {
				t.Errorf("%s: %s: no file is known that holds %q", script, d.rule, d.noticed)
			}
		}
		if sources[script] == "" {
			t.Errorf("there is no %s.lua", script)
		}
	}
	for _, file := range []string{"drive_test.go", "driver_test.go", "spec_test.go", "ledger_test.go", "lease_test.go"} {
		if !files[file] {
			t.Errorf("%s concerns no damage", file)
		}
	}
}

func TestDamagesAreDrawn(t *testing.T) {
	t.Parallel()
	var damages []damage
	for _, rule := range strings.Split("abcdefghijklmnopqrstu", "") {
		damages = append(damages, damage{rule: rule})
	}
	random := rand.New(rand.NewPCG(1, 0))
	for _, c := range []struct{ known, night bool }{{false, false}, {false, true}, {true, true}} {
		if drawn := drawDamages(damages, c.known, c.night, random); !slices.Equal(drawn, damages) {
			t.Errorf("%+v: %d of %d", c, len(drawn), len(damages))
		}
	}
	met := map[string]bool{}
	for range 200 {
		drawn := drawDamages(damages, true, false, random)
		if len(drawn) != 3 {
			t.Fatalf("%d of %d", len(drawn), len(damages))
		}
		for _, d := range drawn {
			met[d.rule] = true
		}
	}
	if len(met) != len(damages) || damages[0].rule != "a" {
		t.Errorf("only %d of %d are ever drawn, or the table itself was shuffled", len(met), len(damages))
	}
	if n := len(drawDamages(damages[:1], true, false, random)); n != 1 {
		t.Errorf("%d of 1", n)
	}
}

// failures is a test whose errors are seen.
type failures struct {
	testing.TB
	told []string
}

func (f *failures) Errorf(format string, args ...any) { f.told = append(f.told, format) }

func TestStatesAreSettled(t *testing.T) {
	t.Parallel()
	states := map[string]string{"turn": "new", "send": "same", "add": "new too"}
	known := map[string]string{"turn": "old", "send": "same", "gone": "old"}
	all := map[string]int{"turn": len(damagesOf["turn"]), "add": len(damagesOf["add"]), "send": 1}
	for _, c := range []struct {
		name   string
		known  map[string]string
		of     map[string]int
		update bool
		told   string
		after  map[string]string // nil: as it was
	}{
		{"nothing has changed", states, nil, false, "", nil},
		{"nothing has changed, written again", states, nil, true, "", nil},
		{"all were noticed", known, all, false, "Say so", nil},
		{"all were noticed, and it is said", known, all, true, "", states},
		{"one was not", known, map[string]int{"turn": all["turn"] - 1, "add": all["add"]}, false, "not all", nil},
		{"one was not, and all others are said", known, map[string]int{"turn": all["turn"] - 1, "add": all["add"]}, true, "not all",
			map[string]string{"turn": "old", "send": "same", "add": "new too"}},
		{"none was tried", known, nil, true, "not all", map[string]string{"turn": "old", "send": "same"}},
		{"one is not there any more", map[string]string{"turn": "new", "send": "same", "add": "new too", "gone": "old"}, nil, false, "not there", nil},
	} {
		file := filepath.Join(t.TempDir(), "sum")
		writeSums(t, file, c.known)
		f := &failures{TB: t}
		settle(f, file, readSums(t, file), states, &tally{of: c.of}, c.update)
		if told := strings.Join(f.told, "\n"); (told == "") != (c.told == "") || !strings.Contains(told, c.told) {
			t.Errorf("%s: told %q, not %q", c.name, told, c.told)
		}
		if c.after == nil {
			c.after = c.known
		}
		if after := readSums(t, file); !maps.Equal(after, c.after) {
			t.Errorf("%s: the file says %v, not %v", c.name, after, c.after)
		}
	}
	if sums := readSums(t, filepath.Join(t.TempDir(), "none")); len(sums) != 0 {
		t.Errorf("%v in no file", sums)
	}
}
