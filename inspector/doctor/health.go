package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/who"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/sharing/keeper"
)

// What the doctor looks at in topics.

// rights checks what a worker of the topics may do. If unknown is not nil, it says why no
// topic is known.
func (d *doctor) rights(ctx context.Context, topics []ask.Stored, unknown error) Check {
	var findings []finding
	if unknown != nil {
		findings = append(findings, warn("not looked at: no topic is known", "see definitions"))
	}
	for _, t := range topics {
		if t.Wrong != "" {
			continue
		}
		if ctx.Err() != nil {
			findings = append(findings, warn("not all looked at: no time left", "mend what took so long, see connection"))
			break
		}
		err := rights.Check(ctx, d.Redis, rights.Need{Worker: true}, rights.Topic{Name: d.Qualified(t.Name), Slots: t.Slots, Notes: t.Notes})
		if err != nil {
			findings = append(findings, fail(ask.OneLine(err), "grant them, or ask as the user of the workers"))
		}
		if len(findings) == 5 { // the others will be like these
			break
		}
	}
	text := "all that workers at " + ask.Plural(len(topics), "topic") + " need"
	if len(topics) == 0 {
		text = "not looked at: there are no topics yet"
	}
	return check("rights", append(findings, ok("%s", text)))
}

// zooKeeper looks at ZooKeeper where it is used, and at the definitions.
func (d *doctor) zooKeeper(ctx context.Context, topics []ask.Stored) []Check {
	var there, here []finding // in ZooKeeper, and in Redis
	shared := 0
	foreign := map[string][]string{} // names by namespace
	for _, t := range topics {
		if t.Wrong != "" {
			here = append(here, fail(fmt.Sprintf("topic %s: %s", t.Name, t.Wrong),
				"write it again as the workers have it, or take the topic from rmq:topics"))
		}
		switch {
		case t.Sharing != definition.SharingZooKeeper:
		case t.Foreign:
			foreign[t.Namespace] = append(foreign[t.Namespace], t.Name)
		default:
			shared++
		}
	}
	here = append(here, ok("%s", ask.Plural(len(topics), "topic")))
	there = append(there, elsewhere(foreign)...)
	if d.Slots == nil {
		if shared > 0 {
			there = append(there, warn("not asked, and "+areShared(shared), "say where it is"))
		}
		if there == nil {
			return []Check{check("definitions", here)}
		}
		return []Check{check("zookeeper", there), check("definitions", here)}
	}
	view, err := d.ZooKeeper(ctx)
	if err != nil {
		there = append(there, fail(ask.OneLine(err), "mend its address, or start it; until then workers stop or coast"))
		return []Check{check("zookeeper", there), check("definitions", here)}
	}
	for _, t := range topics {
		if t.Wrong == "" {
			here = append(here, agrees(t, view)...)
		}
	}
	return []Check{check("zookeeper", append(there, seenIn(view, shared)...)), check("definitions", here)}
}

// elsewhere names the topics that are not looked at in ZooKeeper. Topics of another namespace
// have their nodes at another path, and what is at the path of this one says nothing about
// them.
func elsewhere(foreign map[string][]string) []finding {
	var all []finding
	for _, namespace := range slices.Sorted(maps.Keys(foreign)) {
		names, of, advice := foreign[namespace], "namespace "+namespace, "give --namespace "+namespace
		if namespace == "" {
			of, advice = "no namespace", "leave --namespace away"
		}
		which := "topic " + names[0] + " is"
		if more := len(names) - 1; more > 0 {
			which = fmt.Sprintf("topic %s and %d more are", names[0], more)
		}
		all = append(all, warn(fmt.Sprintf("%s of %s, and not looked at in ZooKeeper", which, of), advice))
	}
	return all
}

// seenIn judges what is in ZooKeeper.
func seenIn(view keeper.View, shared int) []finding {
	var all []finding
	for _, w := range view.Workers {
		if w.Err != nil {
			all = append(all, warn(fmt.Sprintf("worker %s: %s", w.ID, ask.OneLine(w.Err)), "look at its node, or use the newer version"))
		}
	}
	for _, t := range view.Topics {
		if t.Err != nil {
			all = append(all, warn(fmt.Sprintf("topic %s: %s", t.Name, ask.OneLine(t.Err)), "look at its nodes, or use the newer version"))
		}
	}
	switch {
	case view.Tree == "" && shared > 0:
		all = append(all, fail("no worker has been there, and "+areShared(shared),
			"mend the servers, Root or Namespace"))
	case view.Tree == "":
		all = append(all, ok("it answers, and no worker has been there yet"))
	case len(view.Workers) > 0 && view.Coordinator == "":
		all = append(all, warn(ask.Plural(len(view.Workers), "worker")+", and none of them is coordinator", "look again in some seconds"))
	case view.Coordinator == "":
		all = append(all, ok("no workers"))
	default:
		all = append(all, ok("%s, coordinator %s", ask.Plural(len(view.Workers), "worker"), view.Coordinator))
	}
	return all
}

// agrees compares a definition in Redis with that in ZooKeeper.
func agrees(t ask.Stored, view keeper.View) []finding {
	const change = `see "Changing how a topic is shared" in docs/DEPLOYMENT.md`
	if t.Foreign { // the view is not of its namespace
		return nil
	}
	if t.Sharing == definition.SharingZooKeeper && t.Tree != "" && t.Tree != view.Tree {
		f := fail(fmt.Sprintf("topic %s is shared by tree %s, and there is none in ZooKeeper there", t.Name, t.Tree),
			"mend the servers, Root or Namespace")
		if view.Tree != "" {
			f.detail = fmt.Sprintf("topic %s is shared by tree %s, and the one in ZooKeeper there is %s", t.Name, t.Tree, view.Tree)
			f.advice += ", or " + change
		}
		if t.Untold { // then the command may be for another path
			f.advice = "if it is of a namespace, give its --namespace; else " + f.advice
		} else {
			when, command := view.Mend(t.Tree)
			f.advice, f.command = f.advice+"; "+when, command
		}
		return []finding{f}
	}
	for _, seen := range view.Topics {
		if seen.Name != t.Name || seen.Kind == "" { // the latter could not be read
			continue
		}
		if seen.Kind != t.Kind.String() || seen.Slots != t.Slots || seen.Literal != t.Literal || seen.Notes != t.Notes {
			return []finding{fail(fmt.Sprintf("topic %s is %s in Redis, and %s in ZooKeeper", t.Name,
				form(t.Kind.String(), t.Slots, t.Literal, t.Notes), form(seen.Kind, seen.Slots, seen.Literal, seen.Notes)),
				"let all programs have the right one, and delete the wrong one")}
		}
		if t.Sharing == definition.SharingRedis {
			return []finding{warn(fmt.Sprintf("topic %s is shared by Redis, and ZooKeeper has nodes of it", t.Name), change)}
		}
	}
	return nil
}

// form tells a definition in words: literal priority with 16 slots and notes.
func form(kind string, slots int, literal, notes bool) string {
	form := kind + " with " + ask.Plural(slots, "slot")
	if literal {
		form = "literal " + form
	}
	if notes {
		form += " and notes"
	}
	return form
}

// messages looks for topics that need attention. What could not be looked at is in broken
// already for some of them.
func (d *doctor) messages(ctx context.Context, topics []ask.Stored, broken []finding) []Check {
	all := make([]tally, len(topicChecks))
	var seem []who.Stuck // slots, to be looked at again
	for looked, t := range topics {
		if t.Wrong != "" {
			continue
		}
		if ctx.Err() != nil {
			broken = append(broken, fail("no time left to look at "+ask.Plural(len(topics)-looked, "topic"), "mend what took so long, see connection"))
			break
		}
		failed := d.Failing()
		some, err := visit(ctx, d, t.Topic, all, &failed)
		if err != nil {
			broken = append(broken, fail(ask.OneLine(err), "mend what it says; rmq verify shows more"))
			continue
		}
		broken, seem = append(broken, missed(failed.Found.Failures)...), append(seem, some...)
	}
	where := "" // of what could be looked at
	if broken != nil {
		where = " where it could be looked"
	}
	var checks []Check
	if broken != nil {
		checks = append(checks, check("messages", broken))
	}
	for n, c := range topicChecks {
		findings := all[n].findings
		if c.name == "slots" {
			findings = append(findings, stuckSlots(ctx, d, seem)...)
		}
		if all[n].n > 0 {
			findings = append(findings, warn(ask.Plural(all[n].n, c.unit)+": "+ask.Enough(all[n].topics, ", "), c.advice))
		}
		checks = append(checks, check(c.name, append(findings, ok("%s", c.ok+where))))
	}
	return checks
}

func areShared(topics int) string {
	if topics == 1 {
		return "1 topic is shared by it"
	}
	return ask.Plural(topics, "topic") + " are shared by it"
}

// comparing is a journal that is compared with Redis.
type comparing interface {
	Forgotten(ctx context.Context) ([]record.Forgotten, error)
	Compared(ctx context.Context) (bool, error) // whether a program does so again and again, at present
}

// journal tells what Redis has forgotten. It is no check at all without a journal.
func (d *doctor) forgotten(ctx context.Context) []Check {
	j, is := d.Journal.(comparing)
	if !is {
		return nil
	}
	all, err := j.Forgotten(ctx)
	now := false
	if err == nil {
		now, err = j.Compared(ctx)
	}
	if err != nil {
		return []Check{check("journal", []finding{fail(ask.OneLine(err), "mend that first: nobody knows what Redis has forgotten")})}
	}
	var findings []finding
	for _, f := range all {
		slots := make([]string, len(f.Slots))
		for n, slot := range f.Slots {
			slots[n] = strconv.Itoa(slot)
		}
		what := "something"
		if !f.Since.IsZero() {
			what = "what came after " + f.Since.Format("2006-01-02 15:04:05")
		}
		findings = append(findings, fail(
			fmt.Sprintf("Redis forgot %s in %s %s of %s: %s missing", what, nounOf(len(slots), "slot"), ask.Enough(slots, ", "), d.bare(f.Topic), isMissing(f.Messages)),
			"run rmqd journal restore; or rmqd journal reconcile --accept, if they are not wanted any more"))
	}
	if !now {
		findings = append(findings, warn("no program compares it with Redis at present: what Redis forgets is not noticed",
			"let rmqd journal reconcile --every run beside the programs"))
	}
	return []Check{check("journal", append(findings, ok("Redis has all that is owed")))}
}

// bare is a topic's name without the namespace of the inspector.
func (d *doctor) bare(topic string) string {
	return strings.TrimPrefix(topic, d.Qualified(""))
}

func nounOf(n int, noun string) string {
	if n == 1 {
		return noun
	}
	return noun + "s"
}

func isMissing(messages int) string {
	if messages == 1 {
		return "1 message is"
	}
	return strconv.Itoa(messages) + " messages are"
}
