package inspector

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/internal/cluster"
)

// Level is how well something is.
type Level string

// The levels.
const (
	OK   Level = "ok"
	Warn Level = "warn" // it works, and somebody should look at it
	Fail Level = "fail" // it does not work, or messages may get lost
)

// Check is what was looked at, and what was found.
type Check struct {
	Name    string // such as "persistence"
	Level   Level
	Detail  string // what is there, in one line
	Advice  string // what to do, in one line; empty if it is ok
	Command string // to be copied whole, where Advice ends with "this mends it"; empty: none
}

// Doctor looks at the servers and at the topics of the namespace, and changes nothing.
// Whatever goes wrong on the way is a Check, too, also that ctx ends. What servers hold that
// do not answer is not asked for.
func (i *Inspector) Doctor(ctx context.Context) []Check {
	if err := given(ctx, "examine"); err != nil {
		return []Check{{Name: "connection", Level: Fail, Detail: oneLine(err), Advice: "call it with a context"}}
	}
	servers, err := i.examine(ctx)
	if err != nil {
		return []Check{{Name: "connection", Level: Fail, Detail: oneLine(i.explain(err)), Advice: "mend the address of Redis, or start it"}}
	}
	checks := []Check{i.connection(servers)}
	for _, s := range servers { // to ask them again for each thing that they hold would take long
		if cluster.Unanswered(s.err) {
			i.heard.note(s.addr, s.err)
		}
	}
	servers = slices.DeleteFunc(servers, func(s server) bool { return s.err != nil })
	if len(servers) == 0 {
		return checks
	}
	failed := failures{i: i}
	topics, err := i.defined(ctx)
	err = failed.merge(err)
	topics = slices.DeleteFunc(topics, func(d definition) bool { return d.hidden })
	checks = append(checks,
		judge("version", servers, version), judge("role", servers, role), i.rights(ctx, topics, err),
		judge("persistence", servers, persistence), judge("eviction", servers, eviction),
		judge("memory", servers, memory), judge("replicas", servers, replicas), clocks(servers))
	if err != nil {
		return append(checks, Check{Name: "definitions", Level: Fail, Detail: oneLine(err), Advice: "mend that first: no topic is known"})
	}
	checks = append(checks, i.zooKeeper(ctx, topics)...)
	return append(checks, i.messages(ctx, topics, failed.findings())...)
}

// finding is what was found at one server, or of one topic.
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
	c.Detail = enough(details, "; ")
	return c
}

// enough shows some of a list that may be long.
func enough(list []string, separator string) string {
	const most = 5
	text := strings.Join(list[:min(most, len(list))], separator)
	if rest := len(list) - most; rest > 0 {
		text += fmt.Sprintf("%sand %d more", separator, rest)
	}
	return text
}

func oneLine(err error) string { return strings.Join(strings.Fields(err.Error()), " ") }
