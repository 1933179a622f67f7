package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/who"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// doctor looks at servers and topics.
type doctor struct{ *who.Who }

// Examine looks at the servers and at the topics of the namespace, and changes nothing.
// Whatever goes wrong on the way is a Check, too, even the end of ctx. It does not ask for
// what is on servers that do not answer.
func Examine(ctx context.Context, w *who.Who) []Check {
	d := &doctor{w}
	if err := ask.Given(ctx, "examine"); err != nil {
		return []Check{check("connection", []finding{fail(ask.OneLine(err), "call it with a context")})}
	}
	servers, err := d.servers(ctx)
	if err != nil {
		return []Check{check("connection", []finding{fail(ask.OneLine(d.Explain(err)), "mend the address of Redis, or start it")})}
	}
	checks := []Check{d.connection(servers)}
	for _, s := range servers { // to ask them again for each thing that they hold would take long
		if cluster.Unanswered(s.err) {
			d.Masters.Note(s.addr, s.err)
		}
	}
	servers = slices.DeleteFunc(servers, func(s server) bool { return s.err != nil })
	if len(servers) == 0 {
		return checks
	}
	failed := d.Failing()
	topics, err := d.Defined(ctx)
	err = failed.Merge(err)
	topics = slices.DeleteFunc(topics, func(d ask.Stored) bool { return d.Hidden })
	checks = append(checks,
		judge("version", servers, version), judge("role", servers, role), d.rights(ctx, topics, err),
		judge("persistence", servers, persistence), judge("eviction", servers, eviction),
		judge("memory", servers, memory), judge("replicas", servers, replicas), clocks(servers))
	if err != nil {
		return append(checks, check("definitions", []finding{fail(ask.OneLine(err), "mend that first: no topic is known")}))
	}
	checks = append(checks, d.zooKeeper(ctx, topics)...)
	return append(append(checks, d.messages(ctx, topics, missed(failed.Found.Failures))...), d.forgotten(ctx)...)
}

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
