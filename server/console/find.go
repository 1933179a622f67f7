package console

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/text/pattern"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// Where is a message, for those who do not know its topic, or only a part of its content?

const (
	mostAsked   = 16_384 // slots, of all topics together, are asked for a whole content
	mostOfState = 2_000  // messages of a topic in one state are compared with a part of one
	mostFound   = 50     // are on the page
)

// findPage is what was found.
type findPage struct {
	Text   string
	Where  string // the topics that were looked at, in words
	Rows   []foundRow
	More   bool     // that have no place
	Part   bool     // the text is a part of their contents
	Missed []string // what was not looked at
}

// foundRow is a message that was found.
type foundRow struct {
	Topic, Shown, Link, State string
}

// search is one that is under way.
type search struct {
	*visit
	ctx    context.Context
	text   string
	fits   func(content string) bool // one that has the text as a part, or is like it
	topics []inspector.Topic
	page   findPage
	failed inspector.PartialError
}

// loadFind looks for a message whose whole content is given: if there is one, its page is shown. If there is none, it
// looks for messages whose contents have that as a part.
func loadFind(v *visit) (any, error) {
	text, err := contentOf(v)
	if err != nil {
		return nil, err
	}
	s := &search{visit: v, text: text, fits: partly(text), page: findPage{Text: v.contents.Shown(text)}}
	var cancel context.CancelFunc
	s.ctx, cancel = context.WithTimeout(v.ctx, v.answerWithin*2/3)
	defer cancel()
	if err := s.choose(); err != nil {
		return nil, err
	}
	if err := s.run(); err != nil && (s.ctx.Err() == nil || v.ctx.Err() != nil) {
		return nil, err
	} else if err != nil {
		s.leftOut("some topics: the search ran out of time. Open a topic, and search there")
	}
	s.leftOut(missedOf(v, &overview{missed: s.failed.Failures})...)
	if len(s.page.Rows) == 1 && !s.page.Part {
		v.answered = true
		return nil, v.redirect(s.page.Rows[0].Link)
	}
	return &s.page, nil
}

// run looks in one way after the other, until something is found. Who may not see contents may not guess them either.
func (s *search) run() error {
	err := s.whole()
	if s.contents.Hidden {
		return err
	}
	if err == nil && len(s.page.Rows) == 0 && s.cfg.Journal != nil {
		err = s.remembered()
	}
	if err == nil && len(s.page.Rows) == 0 {
		s.page.Part = true
		err = s.part()
	}
	return err
}

func (s *search) leftOut(lines ...string) { s.page.Missed = append(s.page.Missed, lines...) }

// choose chooses the topic that is named, or all that who asks may look at.
func (s *search) choose() error {
	name := s.param("topic")
	if name != "" {
		t, err := s.inspector.Topic(s.ctx, name)
		s.topics, s.page.Where = []inspector.Topic{t}, "topic "+words.Legible(name)
		return err
	}
	all, err := s.inspector.Topics(s.ctx)
	if err := s.failed.Merge(err); err != nil {
		return err
	}
	for _, t := range all {
		if s.looksAt(t.Name) && t.Slots > 0 {
			s.topics = append(s.topics, t)
		}
	}
	slices.SortStableFunc(s.topics, func(a, b inspector.Topic) int { return a.Slots - b.Slots }) // one that is large keeps no others out
	s.page.Where = words.Count(len(s.topics), "topic")
	return nil
}

// found adds a row, unless there are enough.
func (s *search) found(topic, state string, e inspector.Entry) {
	if s.page.More = len(s.page.Rows) == mostFound; !s.page.More {
		s.page.Rows = append(s.page.Rows, foundRow{topic, s.contents.Shown(e.Content), s.contents.Link(topic, e), state})
	}
}

// whole asks all slots for the content.
func (s *search) whole() error {
	slots := 0
	for n, t := range s.topics {
		if slots += t.Slots; slots > mostAsked && n > 0 {
			s.leftOut(words.Count(len(s.topics)-n, "topic") + " with too many slots in all: open a topic, and search there")
			s.topics = s.topics[:n]
			return nil
		}
		places, err := s.inspector.Explain(s.ctx, t.Name, s.text, "")
		if err := s.failed.Merge(err); err != nil && !errors.Is(err, inspector.ErrUnknownTopic) {
			return err
		}
		if len(places) > 0 {
			e := inspector.Entry{Content: s.text, Slot: places[0].Slot, State: stateIn(places[0])}
			s.found(t.Name, string(e.State), e)
		}
	}
	return nil
}

// stateIn is where a message is; of several places, the most urgent one.
func stateIn(x inspector.Explanation) inspector.State {
	switch {
	case x.Dead != nil:
		return inspector.Dead
	case x.Waiting != nil:
		return inspector.Waiting
	case x.Retry != nil:
		return inspector.Retrying
	}
	return inspector.InFlight
}

// remembered asks the journal, which knows what Redis does not have any more.
func (s *search) remembered() error {
	for _, t := range s.topics {
		past, err := s.remember(s.ctx, t.Name, s.text)
		if err != nil {
			return err
		}
		if len(past) > 0 {
			s.found(t.Name, "not here any more", inspector.Entry{Content: s.text, Slot: past[0].in.Slot})
		}
	}
	return nil
}

// partly chooses contents that have a text as a part, or are like it if it is a pattern.
func partly(text string) func(content string) bool {
	like := func(string) bool { return false }
	if glob, err := pattern.Glob(text); err == nil && strings.ContainsAny(text, "*?") {
		like = glob
	}
	return func(content string) bool { return strings.Contains(content, text) || like(content) }
}

// part compares contents with the text.
func (s *search) part() error {
	more := false
	for _, t := range s.topics {
		for _, state := range []inspector.State{inspector.Dead, inspector.Retrying, inspector.InFlight, inspector.Waiting} {
			seen := 0
			for e, err := range s.inspector.Peek(s.ctx, t.Name, state, nil, mostOfState) {
				if err := s.failed.Merge(err); err != nil {
					if errors.Is(err, inspector.ErrUnknownTopic) {
						break
					}
					return err
				}
				if seen++; s.fits(e.Content) {
					s.found(t.Name, string(state), e)
				}
			}
			more = more || seen == mostOfState
		}
		if s.page.More {
			break
		}
	}
	if more {
		s.leftOut("messages after the first " + words.Grouped(mostOfState) + " of a topic in each state")
	}
	return nil
}
