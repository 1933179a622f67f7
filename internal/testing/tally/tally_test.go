package main

import (
	"strings"
	"testing"
)

// told is what a run prints, and what is wrong with it.
func told(lines ...string) (text, wrong string) {
	var out strings.Builder
	sum := newTally(&out)
	for _, line := range lines {
		sum.read([]byte(line + "\n"))
	}
	wrong = sum.end()
	return out.String(), wrong
}

func TestRuns(t *testing.T) {
	const slots = `"Package":"github.com/slotmq/go-rmq/slots"`
	for name, run := range map[string]struct {
		lines      []string
		wrong      string
		has, hasNo []string
	}{
		"good": {
			lines: []string{
				`{"Action":"output",` + slots + `,"Test":"TestOf","Output":"quiet\n"}`,
				`{"Action":"pass",` + slots + `,"Test":"TestOf/one","Elapsed":9}`,
				`{"Action":"pass",` + slots + `,"Test":"TestOf","Elapsed":1.25}`,
				`{"Action":"pass",` + slots + `,"Elapsed":1.5}`,
				`{"Action":"skip","Package":"github.com/slotmq/go-rmq/internal/hash"}`,
			},
			has:   []string{"ok       1.5 s  slots (1 tests)\n", "    9.0 s  slots TestOf/one\n", "\n1 passed, 0 failed, 0 skipped\n"},
			hasNo: []string{"quiet", "TestOf\n", "hash"},
		},
		"a failed test says all that it said": {
			lines: []string{
				`{"Action":"output",` + slots + `,"Test":"TestOf","Output":"RMQ_SEED=7\n"}`,
				`{"Action":"output",` + slots + `,"Test":"TestOther","Output":"quiet\n"}`,
				`{"Action":"fail",` + slots + `,"Test":"TestOf","Elapsed":1}`,
				`{"Action":"pass",` + slots + `,"Test":"TestOther","Elapsed":1}`,
				`{"Action":"fail",` + slots + `,"Elapsed":2}`,
			},
			wrong: "tests have failed",
			has:   []string{"RMQ_SEED=7\n", "FAIL     2.0 s  slots (2 tests)", "== failed\nslots TestOf\n", "\n1 passed, 1 failed, 0 skipped\n"},
			hasNo: []string{"quiet"},
		},
		"a test that never ended": {
			lines: []string{
				`{"Action":"output",` + slots + `,"Test":"TestOf","Output":"panic: no\n"}`,
				`{"Action":"fail",` + slots + `,"Elapsed":2}`,
			},
			wrong: "tests have failed",
			has:   []string{"panic: no\n", "== failed\nslots\n", "\n0 passed, 1 failed, 0 skipped\n"},
		},
		"left over": {
			lines: []string{
				`{"Action":"pass",` + slots + `,"Test":"TestOf","Elapsed":1}`,
				`{"Action":"output",` + slots + `,"Output":"FAIL: a goroutine is left\n"}`,
				`{"Action":"fail",` + slots + `,"Elapsed":2}`,
			},
			wrong: "tests have failed",
			has:   []string{"FAIL: a goroutine is left\n", "\n1 passed, 1 failed, 0 skipped\n"},
		},
		"skipped": {
			lines: []string{
				`{"Action":"output",` + slots + `,"Test":"TestOf","Output":"no server\n"}`,
				`{"Action":"skip",` + slots + `,"Test":"TestOf"}`,
				`{"Action":"pass",` + slots + `,"Test":"TestOther"}`,
			},
			wrong: "tests were skipped",
			has:   []string{"SKIPPED slots TestOf\nno server\n", "\n1 passed, 0 failed, 1 skipped\n"},
		},
		"does not compile": {
			lines: []string{
				`{"ImportPath":"slots","Action":"build-output","Output":"of.go:3: undefined\n"}`,
				`{"ImportPath":"slots","Action":"build-fail"}`,
				`{"Action":"fail",` + slots + `,"Elapsed":0,"FailedBuild":"slots"}`,
			},
			wrong: "tests have failed",
			has:   []string{"of.go:3: undefined\n", "FAIL     0.0 s  slots"},
		},
		"nothing": {wrong: "no test ran", lines: []string{"go: no such package"}, has: []string{"go: no such package\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, wrong := told(run.lines...)
			if wrong != run.wrong {
				t.Errorf("%q is wrong, want %q", wrong, run.wrong)
			}
			for _, want := range run.has {
				if !strings.Contains(text, want) {
					t.Errorf("without %q:\n%s", want, text)
				}
			}
			for _, no := range run.hasNo {
				if strings.Contains(text, no) {
					t.Errorf("with %q:\n%s", no, text)
				}
			}
		})
	}
}

func TestSlowestTests(t *testing.T) {
	var lines []string
	for _, name := range strings.Fields("A B C D E F G H I J K L") {
		lines = append(lines, `{"Action":"pass","Package":"p","Test":"Test`+name+`","Elapsed":`+string('0'+name[0]%10)+`}`)
	}
	text, _ := told(lines...)
	_, list, _ := strings.Cut(text, "== slowest tests\n")
	list, _, _ = strings.Cut(list, "\n\n")
	if n := strings.Count(list, "\n") + 1; n != 10 || !strings.HasPrefix(list, "    9.0 s  p TestE") {
		t.Errorf("%d:\n%s", n, list)
	}
}
