package recovery

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/protocol/score"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/message"
)

// flushPatience is how long living programs may take to write what they know. One that is silent for longer does not
// count as alive any more.
const flushPatience = 40 * time.Second

// settle looks at the suspects once more, and writes what the journal does not know.
//
// The order makes it right. All that living programs knew at the first look is written. Then come the journal, and
// behind it Redis: what the journal tells of a send was in Redis before, so if it is nowhere there it has ended. And
// then the ticks: if Redis has forgotten nothing by now, it had not at the look.
func (c *comparison) settle(ctx context.Context) error {
	if c.suspect.count == 0 {
		return nil
	}
	if _, err := c.journal.Flushed(ctx, flushPatience); err != nil {
		return err
	}
	var all []sight
	for at, contents := range c.suspect.in {
		some, err := c.sights(ctx, at, slices.Collect(maps.Keys(contents)))
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	c.suspect = suspects{}
	m, err := c.round(ctx)
	if err != nil {
		return err
	}
	if m.Forgot.Noticed.IsZero() && c.forgets(all) {
		f := ledger.Forgot{Noticed: time.Now()}
		if m, err = c.journal.Remember(ctx, func(m *ledger.Memory) { m.Forgot = worse(m.Forgot, f) }); err != nil {
			return err
		}
	}
	c.done.Forgot = m.Forgot
	for len(all) > 0 {
		n := 1
		for n < min(pageMost, len(all)) && all[n].place == all[0].place {
			n++
		}
		if err := c.write(ctx, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// write tells the journal about a page of one slot, and waits until it has it.
func (c *comparison) write(ctx context.Context, page []sight) error {
	var marks []ledger.Mark
	for i := range page {
		if mark := c.judge(&page[i]); mark.What != "" {
			marks = append(marks, mark)
		}
	}
	return c.journal.Mark(ctx, page[0].topic, page[0].slot, marks...)
}

// forgets reports whether the number of a slot is smaller than that of a batch that the journal knows. Numbers
// only grow.
func (c *comparison) forgets(all []sight) bool {
	return slices.ContainsFunc(all, func(s sight) bool { return s.number < max(c.numbers[s.place], lastBatch(s.history)) })
}

// lastBatch is the largest number of a batch in which a content has ended.
func lastBatch(h ledger.History) (number int64) {
	for _, e := range h.Ended {
		if e.What == ledger.Done || e.What == ledger.Dead || e.What == ledger.Dropped {
			number = max(number, e.Number)
		}
	}
	return number
}

// judge decides about one content. What is to be written it tells the journal, as those would have who did
// not, or returns.
func (c *comparison) judge(s *sight) ledger.Mark {
	v := s.history.Verdict
	switch {
	case s.alive() && v.What != ledger.Owed:
		return c.adopt(s)
	case s.alive():
	case s.Dead != "" && (v.What != ledger.Dead || v.Content == ""):
		c.bury(s)
	case s.Dead != "" || v.What != ledger.Owed:
	case c.done.Forgot.Noticed.IsZero() && c.late(s.topic, s.history), c.o.Accept && c.doubtful(s.history):
		c.done.Gone++
		return ledger.Mark{Content: s.Content, What: ledger.Gone, Number: newest(s.history), Reason: "it was not in Redis"}
	case c.doubtful(s.history):
		c.done.Missing++
		c.missing[s.place]++
	}
	return ledger.Mark{}
}

// adopt tells the journal of what waits as of something that is sent.
func (c *comparison) adopt(s *sight) ledger.Mark {
	c.done.Adopted++
	number := s.number
	if number == 0 { // the next one is past the clock
		number = s.now*1000 - 1
	}
	if s.Store == "" && s.Prepare != "" { // the end of this batch settles it
		number--
	}
	// What was revived by a Redis that has forgotten its end is owed again.
	number = max(number, lastBatch(s.history))
	c.sent(s, number)
	return ledger.Mark{Content: s.Content, What: ledger.Adopted, Number: number}
}

// sent tells the journal of a send. The score only counts if the journal knows of no other one.
func (c *comparison) sent(s *sight, number int64) {
	item := record.SentItem{Content: s.Content, Score: s.due(), Keeps: true}
	if s.note != nil {
		ttl := int64(0)
		if s.note.Expires > 0 {
			ttl = max(1, s.note.Expires-s.now)
		}
		item.Note = protocol.NoteArg(ttl, s.note.Headers)
	}
	c.journal.Sent([]*record.Sends{{
		Topic: s.topic.Topic, Slot: s.slot, Number: number, At: time.Now(), Items: []record.SentItem{item},
	}}, func(error) {})
}

// due is the score with which the message would wait again: a first delivery has it; else it is as good as can be
// known.
func (s *sight) due() int64 {
	timed := s.topic.Kind.Timed()
	if at := score.Parse(s.Store); s.Store != "" && at > limits.Retries {
		return at
	}
	why, _ := protocol.ParseFailure(s.Why)
	switch at := score.Parse(s.Retry) / 100; {
	case !timed:
		return max(why.Priority, limits.Retries+1)
	case s.Retry != "" && at > 0:
		return at
	}
	return s.now
}

// bury tells the journal of a death, as the worker would have. Nothing is told of one that would not count.
func (c *comparison) bury(s *sight) {
	why, _ := protocol.ParseFailure(s.Why)
	if s.history.Verdict.What != ledger.Owed {
		if s.number < max(lastBatch(s.history), 1) {
			return
		}
		c.sent(s, s.number-1)
	} else if !slices.ContainsFunc(s.history.Sent, func(sent ledger.Sent) bool {
		return sent.Number < s.number && slices.Contains(s.history.Verdict.Open, sent.ID)
	}) {
		return
	}
	c.done.Dead++
	c.journal.Observe(&message.Event{
		Topic: s.topic.Topic, Slot: s.slot, Fence: s.number, At: time.UnixMilli(score.Parse(s.Entry.Dead)), Worker: why.Worker,
		Items: []message.Item{{What: message.Died, Content: s.Content, Attempt: why.Attempts, Reason: why.Reason}},
	})
}
