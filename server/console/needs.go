package console

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/server/console/internal/pages"
)

// need is something that needs a person.
type need struct {
	Level doctor.Level
	Topic string // empty: it is not of one topic
	Text  string
	Do    string // what the link says
	To    string // where it leads; empty: nowhere else
}

// byDoctor is a need about which the doctor says more.
func byDoctor(v *visit, n need) need {
	if v.looksAtAll() {
		n.Do, n.To = "Ask the doctor", "doctor"
	}
	return n
}

// rank is 0 for what is worst.
func rank(l doctor.Level) int {
	return slices.Index([]doctor.Level{doctor.Fail, doctor.Warn, doctor.OK}, l)
}

// alone reports whether messages are due and no worker is there for them.
func alone(s inspector.Stats) bool { return s.Due > 0 && s.Workers == 0 && s.Takers == 0 }

// needsOf is what needs a person at a topic.
func needsOf(s inspector.Stats, workers []inspector.Worker) (all []need) {
	name := s.Topic.Name
	add := func(level doctor.Level, do, to string, format string, args ...any) {
		all = append(all, need{level, name, fmt.Sprintf(format, args...), do, to + url.Values{"topic": {name}}.Encode()})
	}
	if alone(s) {
		add(doctor.Fail, "Who listens?", "topic?", "%s, and no worker listens", words.Count(s.Due, "message")+" due")
	}
	for _, w := range workers {
		if since := w.Probing[name]; !since.IsZero() {
			add(doctor.Fail, "See which", "messages?state=retrying&", "all messages have failed at worker %s for %s: something that its handlers need may be down", protocol.HolderName(w.ID), humantime.Duration(time.Since(since)))
			break
		}
	}
	if n, longest := overTimeout(workers, name); n > 0 {
		add(doctor.Fail, "See which", "topic?", "%s longer than the Timeout of the topic, the longest for %s", words.Count(n, "handler")+" running", humantime.Duration(longest))
	}
	if s.Dead > 0 {
		add(doctor.Fail, "See why", "dead?", "%s", words.Count(s.Dead, "dead message"))
	}
	if s.Paused > 0 {
		add(doctor.Warn, "See the slots", "topic?", "%s paused", words.Count(s.Paused, "slot"))
	}
	if s.Overdue > pages.LongOverdue && !alone(s) {
		add(doctor.Warn, "See the slots", "topic?", "the oldest due message has waited for %s", humantime.Duration(s.Overdue))
	}
	if s.Policy != (inspector.Policy{}) {
		add(doctor.Warn, "See the limit", "topic?", "limited to %s", s.Policy)
	}
	return all
}

// overTimeout is how many handlers of a topic have run for longer than they may, and the longest of them.
func overTimeout(workers []inspector.Worker, topic string) (n int, longest time.Duration) {
	const late = 5 * time.Second // clocks differ, and a handler that obeys its context ends soon
	for _, w := range workers {
		if w.Unlisted { // it may have been killed
			continue
		}
		for _, r := range w.Running {
			if ran := time.Since(r.Since); r.Topic == topic && ran > r.Timeout+late {
				n++
				longest = max(longest, ran)
			}
		}
	}
	return n, longest
}

// vanishedFor is how long a worker that vanished is named on the first page.
const vanishedFor = 10 * time.Minute

// needsOfVanished is what workers need that vanished just now.
func needsOfVanished(v *visit, gone []inspector.Vanished) []need {
	rows := goneOf(gone, v.looksAt)
	rows = slices.DeleteFunc(rows, func(r goneRow) bool { return time.Since(r.Until) > vanishedFor })
	if len(rows) == 0 {
		return nil
	}
	text := fmt.Sprintf("worker %s vanished about %s: it was not closed", words.Legible(rows[0].Name), humantime.Ago(time.Since(rows[0].Until)))
	if more := len(rows) - 1; more > 0 {
		text += ", and " + words.Grouped(more) + " more"
	}
	return []need{{Level: doctor.Warn, Text: text, Do: "See the workers", To: "workers"}}
}

// ofTopics are the checks of the doctor that needsOf says more of.
var ofTopics = []string{"workers", "handlers", "paused", "limited", "dead"}

// needsOfServers is what else the doctor found: each failure by itself, and all that is worth a look together. People
// who may not ask the doctor see only that something fails.
func needsOfServers(v *visit, checks []doctor.Check) (all []need) {
	var look []string
	for _, c := range checks {
		switch {
		case slices.Contains(ofTopics, c.Name):
		case c.Level == doctor.Fail:
			all = append(all, need{c.Level, "", c.Name + ": " + c.Detail, "Ask the doctor", "doctor"})
		case c.Level == doctor.Warn:
			look = append(look, c.Name)
		}
	}
	switch {
	case v.looksAtAll():
	case len(all) > 0:
		return []need{{Level: doctor.Fail, Text: "a check of the servers fails: ask someone whose token may look at all topics"}}
	default:
		return nil
	}
	if look != nil {
		all = append(all, need{doctor.Warn, "", "the doctor has advice about: " + strings.Join(look, ", "), "Ask the doctor", "doctor"})
	}
	return all
}
