package console

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/story"
	"github.com/slotmq/go-rmq/internal/words"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/server/internal/audit"
)

// The page of a message: where is it, and why has it not run? And what the journal knows of it.

// longestWhole is how much of a content its page shows, in bytes.
const longestWhole = 64 << 10

// mostEvents of the journal are shown, the newest.
const mostEvents = 100

// dossier is what is known of a message at one time.
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
func (c *Console) readMessage(topic, content string) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		var d dossier
		var err error
		if c.cfg.Journal != nil {
			if d.past, err = c.remember(ctx, topic, content); err != nil {
				return nil, fmt.Errorf("ask the journal: %w", err)
			}
		}
		d.places, err = c.inspector.Explain(ctx, topic, content, "")
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

func (c *Console) qualified(topic string) string { return luascripts.Qualify(c.cfg.Namespace, topic) }

// messagePage is what the page of a message shows.
type messagePage struct {
	Topic   string
	Content string // as it is shown
	Bytes   int
	Cut     bool // more of it is there
	At      time.Time
	Places  []place
	Past    []chronicle       // of slots where it is not any more
	Journal bool              // there is one
	Waits   bool              // in one of the places: it can be cancelled and rescheduled
	Fields  map[string]string // name it in a form
	Timed   bool              // its topic has times, and no priorities
	Part    string            // where contents are looked for that contain it; empty: it was found, or is not to stand in an address
}

// place is what is known of it in a slot.
type place struct {
	Slot  int
	Lines []story.Line
	Past  *chronicle
	Dead  bool
	Pick  string // names it among the dead
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
	name := "message " + topic + "\x00" + v.digest(content)
	d, at, err := of[*dossier](v, name, v.readMessage(topic, content))
	if err != nil {
		return nil, err
	}
	p := &messagePage{Topic: topic, Bytes: len(content), At: at, Journal: v.cfg.Journal != nil, Timed: true}
	p.Content, p.Cut = v.whole(words.Head(content, longestWhole)), len(content) > longestWhole && !v.cfg.HideContents
	if v.cfg.HideContents {
		p.Content = v.shown(content)
	}
	e := inspector.Entry{Content: content}
	there := map[int]bool{}
	style := v.style()
	for _, x := range d.places {
		there[x.Slot] = true
		if x.Waiting != nil || x.Retry != nil {
			p.Waits = true
			if d.policy != (inspector.Policy{}) {
				x.WaitsFor = append(slices.Clone(x.WaitsFor), "the limit of its topic: "+d.policy.String())
			}
		}
		e.Slot, e.State, p.Timed = x.Slot, stateIn(x), x.Topic.Kind.Timed()
		p.Places = append(p.Places, v.placeOf(style, x, d.past))
	}
	for _, r := range d.past {
		if !there[r.in.Slot] {
			p.Past = append(p.Past, *chronicleOf(style, r))
		}
	}
	p.Fields = v.fieldsOf(e)
	if len(d.places) == 0 && len(d.past) == 0 && !v.cfg.HideContents && len(content) <= longestNamed {
		p.Part = "find?" + url.Values{"topic": {topic}, "content": {content}}.Encode()
	}
	return p, nil
}

func (v *visit) placeOf(style story.Style, x inspector.Explanation, past []remembered) place {
	here := place{Slot: x.Slot, Lines: style.Of(x), Dead: x.Dead != nil}
	if x.Dead != nil {
		here.Pick = v.pickOf(*x.Dead)
	}
	for _, r := range past {
		if r.in.Slot == x.Slot {
			here.Past = chronicleOf(style, r)
		}
	}
	return here
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
	return story.Style{Moment: moment, Content: c.shown, Requeue: "a requeue", Hides: c.cfg.HideContents}
}

// doCancel takes a message back.
func (v *visit) doCancel() error {
	topic := v.param("topic")
	content, err := v.content()
	if err != nil {
		return err
	}
	if v.param("sure") == "" {
		return refused("To cancel the message, tick the box before the button.")
	}
	removed, asked, err := v.inspector.Cancel(v.ctx, topic, content, "")
	done := "cancelled"
	switch {
	case removed && asked:
		done = "cancelled-asked"
	case asked:
		done = "asked"
	case !removed:
		done = "nowhere"
	}
	v.note(audit.Deed{What: "cancel", Topic: topic, Count: audit.Number(removed), Which: v.shown(content), Result: done}, err)
	if err != nil {
		return err
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
	_, err = v.inspector.Reschedule(v.ctx, topic, content, "", to)
	v.note(audit.Deed{What: "reschedule", Topic: topic, Count: audit.Number(err == nil), Which: v.shown(content), With: audit.Move(to)}, err)
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
		for name, values := range v.hashParams(inspector.Entry{Content: content}) {
			q[name] = values
		}
		q.Set("slot", v.param("slot"))
		q.Set("state", v.param("state"))
	default:
		q.Set("content", content)
	}
	return v.goTo("message", q)
}
