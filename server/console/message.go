package console

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/text/story"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/server/console/internal/pages"
	"github.com/slotmq/go-rmq/server/console/internal/problem"
	"github.com/slotmq/go-rmq/server/internal/audit"
)

// The page of a message: where is it, and why has it not run? And what the journal knows of it.

// longestWhole is how much of a content its page shows, in bytes.
const longestWhole = 64 << 10

// mostEvents of the journal are shown, the newest.
const mostEvents = 100

// details are what is known of a message at one time.
type details struct {
	places []inspector.Explanation
	past   []remembered
	policy inspector.Policy
}

// remembered is what the journal has of a message in a slot.
type remembered struct {
	topic ledger.Topic
	in    ledger.History
}

// readMessage looks for a message in Redis and in the journal.
func (c *Console) readMessage(topic, content string) func(context.Context) (any, error) {
	return func(ctx context.Context) (any, error) {
		var d details
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
	at := slices.IndexFunc(topics, func(t ledger.Topic) bool { return t.Name == c.qualified(topic) })
	if at < 0 {
		return nil, nil
	}
	found, err := c.cfg.Journal.History(ctx, topics[at].Name, content)
	for _, in := range found {
		all = append(all, remembered{topics[at], in})
	}
	return all, err
}

func (c *Console) qualified(topic string) string { return protocol.Qualify(c.cfg.Namespace, topic) }

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
	Part    string            // the page that looks for contents with it as a part; empty: it was found, or must not stand in an address
}

// place is what is known of it in a slot.
type place struct {
	Slot  int
	Lines []story.Line
	Past  *chronicle
	Dead  bool
	Pick  string // names it among the dead
}

// chronicle is what happened to the message, by the journal.
type chronicle struct {
	Slot    int
	Verdict string
	Events  []story.Event
	More    int
}

func loadMessage(v *visit) (any, error) {
	topic := v.param("topic")
	content, err := contentOf(v)
	if err != nil {
		return nil, err
	}
	name := "message " + topic + "\x00" + v.contents.Digest(content)
	d, at, err := of[*details](v, name, v.readMessage(topic, content))
	if err != nil {
		return nil, err
	}
	p := &messagePage{Topic: topic, Bytes: len(content), At: at, Journal: v.cfg.Journal != nil, Timed: true}
	p.Content, p.Cut = words.Legible(words.Head(content, longestWhole)), len(content) > longestWhole && !v.contents.Hidden
	if v.contents.Hidden {
		p.Content = v.contents.Shown(content)
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
		p.Places = append(p.Places, placeOf(v, style, x, d.past))
	}
	for _, r := range d.past {
		if !there[r.in.Slot] {
			p.Past = append(p.Past, *chronicleOf(style, r))
		}
	}
	p.Fields = v.contents.Fields(e)
	if len(d.places) == 0 && len(d.past) == 0 && v.contents.InAddress(content) {
		p.Part = "find?" + url.Values{"topic": {topic}, "content": {content}}.Encode()
	}
	return p, nil
}

func placeOf(v *visit, style story.Style, x inspector.Explanation, past []remembered) place {
	here := place{Slot: x.Slot, Lines: style.Of(x), Dead: x.Dead != nil}
	if x.Dead != nil {
		here.Pick = v.contents.Pick(*x.Dead)
	}
	for _, r := range past {
		if r.in.Slot == x.Slot {
			here.Past = chronicleOf(style, r)
		}
	}
	return here
}

// askByForm shows the page for a content that is not to stand in an address.
func askByForm(v *visit) error {
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
	return story.Style{Moment: pages.Moment, Content: c.contents.Shown, Requeue: "a requeue", Hides: c.cfg.HideContents}
}

// doCancel takes a message back.
func doCancel(v *visit) error {
	content, err := contentOf(v)
	if err != nil {
		return err
	}
	if v.param("sure") == "" {
		return problem.Refused("To cancel the message, tick the box before the button.")
	}
	removed, asked, err := v.inspector.Cancel(v.ctx, v.param("topic"), content, "")
	done := "cancelled"
	switch {
	case removed && asked:
		done = "cancelled-asked"
	case asked:
		done = "asked"
	case !removed:
		done = "nowhere"
	}
	return backTo(v, content, done, audit.Action{What: "cancel", Count: audit.Number(removed), Result: done}, err)
}

// doReschedule gives a message that waits another time or priority.
func doReschedule(v *visit) error {
	content, err := contentOf(v)
	if err != nil {
		return err
	}
	to, err := move(v)
	if err != nil {
		return err
	}
	_, err = v.inspector.Reschedule(v.ctx, v.param("topic"), content, "", to)
	return backTo(v, content, "rescheduled", audit.Action{What: "reschedule", Count: audit.Number(err == nil), With: audit.Move(to)}, err)
}

// backTo leads to the page of a message, where it says what was done.
func backTo(v *visit, content, done string, d audit.Action, err error) error {
	d.Topic, d.Which = v.param("topic"), v.contents.Shown(content)
	page, q := "message", v.contents.Params(d.Topic, inspector.Entry{Content: content, State: inspector.State(v.param("state"))})
	switch {
	case v.contents.InAddress(content):
	case done == "rescheduled":
		q.Set("slot", v.param("slot"))
	default: // it cannot be found by its hash any more
		page, q = "topic", url.Values{"topic": {d.Topic}}
	}
	q.Set("done", done)
	return v.did(d, err, page, q)
}

// mostSearched messages of a slot are compared with a hash.
const mostSearched = 10_000

// contentOf is the content of the message that is named.
func contentOf(v *visit) (string, error) {
	if hash := v.param("hash"); hash != "" {
		return found(v, hash)
	}
	if text := v.param("base64"); text != "" {
		content, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return "", problem.Torn
		}
		return string(content), nil
	}
	content := v.param("content")
	if content == "" {
		return "", problem.Refused("Which message? Write its content, byte by byte.")
	}
	return content, nil
}

// found is what searchFor has found. A stream searches once: many messages are read for it.
func found(v *visit, hash string) (string, error) {
	if v.searched != nil {
		return v.searched()
	}
	content, err := searchFor(v, hash)
	var gone *problem.Problem
	if err == nil || errors.As(err, &gone) {
		v.searched = func() (string, error) { return content, err }
	}
	return content, err
}

// searchFor finds the content with a hash where its message was seen, or anywhere else in its slot.
func searchFor(v *visit, hash string) (string, error) {
	slot, err := strconv.Atoi(v.param("slot"))
	if err != nil {
		return "", problem.Refused("The address names a message by its hash, and not its slot. Begin at a list again.")
	}
	states := []inspector.State{inspector.Waiting, inspector.InFlight, inspector.Retrying, inspector.Dead}
	seen := inspector.State(v.param("state"))
	if at := slices.Index(states, seen); at > 0 {
		states = slices.Insert(slices.Delete(states, at, at+1), 0, seen)
	}
	for _, state := range states {
		content, found, err := searchIn(v, v.param("topic"), state, slot, hash)
		if err != nil || found {
			return content, err
		}
	}
	return "", problem.Missing("This message is not among the first " + words.Grouped(mostSearched) +
		" of its slot. It may have been handled, cancelled or deleted.")
}

func searchIn(v *visit, topic string, state inspector.State, slot int, hash string) (content string, found bool, err error) {
	for e, err := range v.inspector.Peek(v.ctx, topic, state, []int{slot}, mostSearched) {
		if err != nil {
			return "", false, err
		}
		if strings.EqualFold(v.contents.Digest(e.Content), hash) {
			return e.Content, true, nil
		}
	}
	return "", false, nil
}
