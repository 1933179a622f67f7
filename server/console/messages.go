package console

import (
	"slices"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/text/pattern"
	"github.com/slotmq/go-rmq/internal/text/story"
	"github.com/slotmq/go-rmq/server/console/internal/problem"
)

// The page of messages: what contents look like, and what comes next.

// mostPeeked messages are on the page, of the first mostCompared that a filter is held against.
const (
	mostPeeked   = 50
	mostCompared = 10_000
)

// messagesPage is what it shows.
type messagesPage struct {
	Topic   string
	State   string
	Glob    string
	Slots   string
	States  []string
	Rows    []messageRow
	Partly  string
	Bounded bool // it stopped before the end
}

// messageRow is a message in the list.
type messageRow struct {
	inspector.Entry
	Shown, Link, When string
}

func loadMessages(v *visit) (any, error) {
	p := &messagesPage{Topic: v.param("topic"), State: v.param("state"), Glob: v.field("glob"), Slots: v.param("slots"),
		States: []string{string(inspector.Waiting), string(inspector.InFlight), string(inspector.Retrying)}}
	if p.State == "" {
		p.State = string(inspector.Waiting)
	}
	if !slices.Contains(p.States, p.State) {
		return nil, problem.Refused("Messages are waiting, in-flight or retrying here; the dead have a page of their own.")
	}
	slots, err := slotsParam(v)
	if err != nil {
		return nil, err
	}
	fits, limit, err := p.fits(v)
	if err != nil {
		return nil, err
	}
	now, err := cluster.Now(v.ctx, v.cfg.Redis)
	if err != nil && now.IsZero() { // a part of a Cluster may be away
		return nil, err
	}
	seen := 0
	for e, err := range v.inspector.Peek(v.ctx, p.Topic, inspector.State(p.State), slots, limit) {
		if err != nil {
			if p.Partly, err = incomplete(err); err != nil {
				return nil, err
			}
			break
		}
		if seen++; !fits(e.Content) {
			continue
		}
		if len(p.Rows) == mostPeeked {
			p.Bounded = true
			break
		}
		p.Rows = append(p.Rows, messageRow{e, v.contents.Shown(e.Content), v.contents.Link(p.Topic, e), when(e, now)})
	}
	p.Bounded = p.Bounded || seen == limit
	return p, nil
}

// fits chooses contents, and says how many are to be read for that.
func (p *messagesPage) fits(v *visit) (fits func(content string) bool, limit int, err error) {
	switch {
	case p.Glob == "":
		return func(string) bool { return true }, mostPeeked + 1, nil
	case v.contents.Hidden:
		return nil, 0, problem.Guess
	}
	if fits, err = pattern.Glob(p.Glob); err != nil {
		err = problem.Glob(err)
	}
	return fits, mostCompared, err
}

// when says when a message is handled, as far as that is known.
func when(e inspector.Entry, now time.Time) string {
	switch {
	case e.State == inspector.InFlight:
		return story.OfAll(e.Attempt)
	case !e.Due.IsZero():
		return story.Until(e.Due, now)
	}
	return "when its turn comes"
}
