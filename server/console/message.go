package console

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/story"
	"github.com/slotmq/go-rmq/journal"
)

// The page of a message: where is it, and why has it not run? And what the journal knows of it.

// longestWhole is how much of a content its page shows, in bytes.
const longestWhole = 64 << 10

// mostEvents of the journal are shown, the newest.
const mostEvents = 100

// known of a message at one time.
type dossier struct {
	places []inspector.Explanation
	past   []remembered
	policy inspector.Policy
}

// remembered is what the journal has of a message in a slot.
type remembered struct {
	topic journal.Topic
	in    journal.History
}

// readMessage looks for a message in Redis and in the journal.
func (c *Console) readMessage(topic, content, basis string) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		var d dossier
		var err error
		if c.cfg.Journal != nil {
			if d.past, err = c.remember(ctx, topic, content); err != nil {
				return nil, fmt.Errorf("ask the journal: %w", err)
			}
		}
		d.places, err = c.inspector.Explain(ctx, topic, content, basis)
		if err != nil && (len(d.past) == 0 || !errors.Is(err, inspector.ErrUnknownTopic)) {
			var partial *inspector.PartialError
			if errors.As(err, &partial) {
				return &d, err
			}
			return nil, err
		}
		if d.policy, err = c.inspector.Policy(ctx, topic); err != nil && len(d.places) > 0 {
			return &d, err
		}
		return &d, nil
	}
}

// remember is what the journal has of a content.
func (c *Console) remember(ctx context.Context, topic, content string) (all []remembered, err error) {
	topics, err := c.cfg.Journal.Topics(ctx)
	if err != nil {
		return nil, err
	}
	at := slices.IndexFunc(topics, func(t journal.Topic) bool { return t.Name == c.qualified(topic) })
	if at < 0 {
		return nil, nil
	}
	found, err := c.cfg.Journal.History(ctx, topics[at].Name, content)
	for _, in := range found {
		all = append(all, remembered{topics[at], in})
	}
	return all, err
}

// messagePage is what the page of a message shows.
type messagePage struct {
	Topic   string
	Content string // as it is shown
	Bytes   int
	Cut     bool // more of it is there
	At      time.Time
	Places  []place
	Past    []chronicle // of slots where it is not any more
	Journal bool        // there is one
	Fields  map[string]string
	Timed   bool // its topic has times, and no priorities
	Link    string
	Part    string // where contents are looked for that contain it; empty: it was found, or is not to stand in an address
}

// place is what is known of it in a slot.
type place struct {
	Slot  int
	Lines []story.Line
	Past  *chronicle
	Waits bool // and can be cancelled and rescheduled
	Dead  bool
	Pick  string // names it among the dead
	Move  string // what can be changed: time, priority
}

// chronicle is what happened to it, as the journal has it.
type chronicle struct {
	Slot    int
	Verdict string
	Events  []story.Event
	More    int
}

func (v *visit) loadMessage() (any, error) {
	topic := v.param("topic")
	content, err := v.content()
	if err != nil {
		return nil, err
	}
	basis := v.param("basis")
	name := "message " + topic + "\x00" + digest(content) + "\x00" + basis
	d, at, err := of[*dossier](v, name, v.readMessage(topic, content, basis))
	if err != nil {
		return nil, err
	}
	p := &messagePage{Topic: topic, Bytes: len(content), At: at, Journal: v.cfg.Journal != nil, Timed: true}
	p.Content, p.Cut = v.whole(head(content, longestWhole)), len(content) > longestWhole && !v.cfg.HideContents
	if v.cfg.HideContents {
		p.Content = v.shown(content)
	}
	e := inspector.Entry{Content: content}
	there := map[int]bool{}
	style := v.style()
	for _, x := range d.places {
		there[x.Slot] = true
		if x.Waiting != nil || x.Retry != nil {
			x.WaitsFor = slices.Clone(x.WaitsFor)
			if failing := v.failing(topic, x.Slot); failing != "" {
				x.WaitsFor = slices.DeleteFunc(x.WaitsFor, func(s string) bool { return strings.HasPrefix(s, "its worker, ") })
				x.WaitsFor = append(x.WaitsFor, failing)
			}
			if d.policy != (inspector.Policy{}) {
				x.WaitsFor = append(x.WaitsFor, "the limit of its topic: "+d.policy.String())
			}
		}
		here := place{Slot: x.Slot, Lines: style.Of(x), Waits: x.Waiting != nil || x.Retry != nil, Dead: x.Dead != nil}
		e.Slot, p.Timed = x.Slot, x.Topic.Kind.Timed()
		e.State = stateIn(x)
		if x.Dead != nil {
			here.Pick = pickOf(*x.Dead)
		}
		for _, r := range d.past {
			if r.in.Slot == x.Slot {
				here.Past = chronicleOf(style, r)
			}
		}
		p.Places = append(p.Places, here)
	}
	for _, r := range d.past {
		if !there[r.in.Slot] {
			p.Past = append(p.Past, *chronicleOf(style, r))
		}
	}
	p.Fields, p.Link = v.fieldsOf(e), v.linkOf(topic, e)
	if len(d.places) == 0 && len(d.past) == 0 && !v.cfg.HideContents && len(content) <= longestNamed {
		p.Part = "find?" + url.Values{"topic": {topic}, "content": {content}}.Encode()
	}
	return p, nil
}

// failing says what a message of a slot waits for whose worker only tries one now and then, as far as that is known without
// asking: the workers of all topics are asked for often anyway.
func (v *visit) failing(topic string, slot int) string {
	all, known := v.collector.glance(topicsSubject).value.(*overview)
	if !known {
		return ""
	}
	for _, w := range all.workers {
		if since := w.Probing[topic]; !since.IsZero() && slices.Contains(w.Assigned[topic], slot) {
			return fmt.Sprintf("what the handlers of %s need: all messages of this topic fail there, for %s, and one is tried now and then", inspector.HolderName(w.ID), humantime.Duration(time.Since(since)))
		}
	}
	return ""
}

// askByForm shows the page for a content that is not to stand in an address.
func (v *visit) askByForm() error {
	v.still = true
	return v.show(v.page)
}

func chronicleOf(style story.Style, r remembered) *chronicle {
	all := style.History(r.topic.Topic, r.in)
	c := &chronicle{Slot: r.in.Slot, Verdict: story.Verdict(r.in.Verdict), Events: all[max(0, len(all)-mostEvents):]}
	c.More = len(all) - len(c.Events)
	return c
}

// style is how lines about messages are written here.
func (c *Console) style() story.Style {
	return story.Style{Moment: moment, Content: c.shown, Requeue: "a requeue"}
}

// doCancel takes a message back.
func (v *visit) doCancel() error {
	topic := v.param("topic")
	content, err := v.content()
	if err != nil {
		return err
	}
	removed, asked, err := v.inspector.Cancel(v.ctx, topic, content, v.param("basis"))
	v.note("cancel", topic, 1, err)
	if err != nil {
		return err
	}
	done := "cancelled"
	switch {
	case removed && asked:
		done = "cancelled-asked"
	case asked:
		done = "asked"
	case !removed:
		done = "nowhere"
	}
	return v.backTo(topic, content, done)
}

// doReschedule gives a message that waits another time or priority.
func (v *visit) doReschedule() error {
	topic := v.param("topic")
	content, err := v.content()
	if err != nil {
		return err
	}
	to, err := v.move()
	if err != nil {
		return err
	}
	_, err = v.inspector.Reschedule(v.ctx, topic, content, v.param("basis"), to)
	v.note("reschedule", topic, 1, err)
	if err != nil {
		return err
	}
	return v.backTo(topic, content, "rescheduled")
}

// backTo leads to the page of a message, where it says what was done.
func (v *visit) backTo(topic, content, done string) error {
	q := url.Values{"topic": {topic}, "done": {done}}
	switch {
	case v.cfg.HideContents || len(content) > longestNamed:
		if done != "rescheduled" { // then it cannot be found by its hash
			return v.goTo("topic", q)
		}
		for name, values := range hashParams(inspector.Entry{Content: content}) {
			q[name] = values
		}
		q.Set("slot", v.param("slot"))
		q.Set("state", v.param("state"))
	default:
		q.Set("content", content)
	}
	return v.goTo("message", q)
}
