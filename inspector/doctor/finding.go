package doctor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// Level is how well something is.
type Level string

// The levels.
const (
	OK   Level = "ok"
	Warn Level = "warn" // it works, and you should look at it
	Fail Level = "fail" // it does not work, or messages may get lost
)

// Check is one thing that the doctor looks at, and what it found.
type Check struct {
	Name    string `json:"check"` // such as "persistence"
	Level   Level  `json:"level"`
	Detail  string `json:"detail"`            // what is there, in one line
	Advice  string `json:"advice,omitempty"`  // what to do, in one line; empty if it is ok
	Command string `json:"command,omitempty"` // to be copied whole, where Advice ends with "this repairs it, in zkCli.sh:"; empty: none
}

// finding is what was found at one server or topic.
type finding struct {
	level                   Level
	detail, advice, command string // as in [Check]
}

func ok(format string, args ...any) finding {
	return finding{level: OK, detail: fmt.Sprintf(format, args...)}
}

func warn(detail, advice string) finding { return finding{level: Warn, detail: detail, advice: advice} }

func fail(detail, advice string) finding { return finding{level: Fail, detail: detail, advice: advice} }

// check is the worst of several findings, with the details of all that are not ok.
func check(name string, findings []finding) Check {
	c := Check{Name: name, Level: OK}
	var details []string
	for _, level := range []Level{Fail, Warn, OK} {
		for _, f := range findings {
			if f.level == level && (level != OK || c.Level == OK) {
				if len(details) == 0 {
					c.Level, c.Advice, c.Command = level, f.advice, f.command
				}
				if !slices.Contains(details, f.detail) {
					details = append(details, f.detail)
				}
			}
		}
	}
	line := func(s string) string { return words.OneLine(strings.ToValidUTF8(s, "\ufffd")) } // ids in it may have any bytes
	c.Detail, c.Advice = line(ask.Enough(details, "; ")), line(c.Advice)
	return c
}

// missed are findings about what could not be looked at. Those of one topic at one silent server are one
// finding.
func missed(failed []ask.Failed) []finding {
	type part struct{ topic, server string }
	var all []finding
	var parts []part
	slots := map[part][]int{}
	for _, one := range failed {
		if one.Server == "" {
			all = append(all, fail(ask.OneLine(one.Err), "mend what it says; rmq verify shows more"))
			continue
		}
		p := part{one.Topic, one.Server}
		if _, met := slots[p]; !met {
			parts, slots[p] = append(parts, p), nil
		}
		if one.Slot >= 0 {
			slots[p] = append(slots[p], one.Slot)
		}
	}
	for _, p := range parts {
		what := "its definition or its workers cannot be read"
		if n := len(slots[p]); n > 0 {
			what = fmt.Sprintf("%s cannot be read, such as slot %d", ask.Plural(n, "slot"), slots[p][0])
		}
		all = append(all, fail(fmt.Sprintf("topic %s: %s: server %s does not answer", p.topic, what, p.server), "see connection"))
	}
	return all
}
