package producer

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/message"
)

// A journal gets with each send the number of its slot, which the same write reads behind the send. A
// batch with a larger number took what the send has stored, so what ends in it settles the send. See
// "What is owed" in docs/JOURNAL.md.

// number adds the question for the number of the slot that the last of these writes go to, and that for
// the time if the slot had none when it was last asked. The answer is behind each of them that has one in
// this try.
func (e *executor) number(cmds []redis.Cmder, at server, writes []*write) []redis.Cmder {
	lane := writes[len(writes)-1].lane
	cmd := protocol.NumberCmd(e.run, lane.topic.name, lane.slot)
	var clock *redis.TimeCmd
	if !lane.topic.slots[lane.slot].numbered.Load() {
		clock = redis.NewTimeCmd(e.run, "time")
	}
	for i := len(writes) - 1; i >= 0 && writes[i].lane == lane; i-- {
		writes[i].number, writes[i].clock = cmd, clock
	}
	if at.asking {
		cmds = append(cmds, redis.NewStatusCmd(e.run, "asking"))
	}
	if cmds = append(cmds, cmd); clock != nil {
		cmds = append(cmds, clock)
	}
	return cmds
}

// numberOf is the number of the slot, read behind a write that has an answer. If Redis has just lost it, it is
// made from the server's clock.
func (to *writer) numberOf(w *write) int64 {
	numbered := &w.lane.topic.slots[w.lane.slot].numbered
	if has := w.number.Err() == nil; has != numbered.Load() {
		numbered.Store(has)
	}
	if w.number.Err() == redis.Nil && w.clock == nil {
		if now, err := to.clock.now(to.run, w.lane.store()); err == nil {
			return now.latest().UnixMicro()
		}
	}
	return protocol.NumberAnswer(w.number, w.clock, record.UnknownNumber)
}

// ready reports why the journal wants no sends at present.
func (p *Producer) ready() error {
	if p.cfg.Journal == nil {
		return nil
	}
	return p.cfg.Journal.Ready()
}

// journal passes a flight that has its answers to the journal. The senders get them when the
// journal has answered; until then the next flights are written.
func (to *writer) journal(f *flight) {
	all := to.sends(f)
	if len(all) == 0 {
		close(f.done)
		return
	}
	f.refs.Add(1)
	to.idle.Add(1)
	to.mu.Lock()
	to.busy++ // Close waits for it, also when no flusher runs any more
	f.journaled = true
	to.mu.Unlock()
	to.cfg.Journal.Sent(all, func(err error) {
		defer to.idle.Done()
		defer to.journalAnswered()
		if err != nil {
			f.notJournaled(err)
		}
		close(f.done)
		f.release()
	})
}

// journalAnswered notes that the journal has answered.
func (s *shared) journalAnswered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy--
}

// sends is what a flight has stored, for the journal.
func (to *writer) sends(f *flight) (all []*record.Sends) {
	now := time.Now()
	for i := range f.writes {
		w := &f.writes[i]
		if w.Err() != nil {
			continue
		}
		l := w.lane
		s := &record.Sends{Topic: l.topic.Topic, Slot: l.slot, Number: to.numberOf(w), At: now}
		s.Topic.Name = l.topic.name
		for _, e := range w.entries {
			if f.stored(e) {
				s.Items = append(s.Items, f.sent(l, e))
			}
		}
		if len(s.Items) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// stored reports whether a write that was answered has put an entry into Redis.
func (f *flight) stored(entry int32) bool {
	return f.outcomes[entry] != Duplicate && (f.errs == nil || f.errs[entry] == nil || f.errs[entry] == ErrNotReplicated)
}

// sent is an entry of a lane, for the journal.
func (f *flight) sent(l *lane, entry int32) record.SentItem {
	x := record.SentItem{Content: f.contents[entry], Score: f.scores[entry]}
	if int(entry) < len(f.more) {
		x.Note = f.more[entry].note
	}
	if l.topic.Kind.FirstWins() && !f.extends(entry) {
		x.Merged = f.outcomes[entry] == Merged && !l.topic.Notes
		x.Keeps = f.outcomes[entry] != Stored && l.fields == 0 // else the answer has its time
	}
	return x
}

// notJournaled gives an error to the entries that the journal should have got.
func (f *flight) notJournaled(err error) {
	for i := range f.writes {
		w := &f.writes[i]
		if w.Err() != nil {
			continue
		}
		for _, e := range w.entries {
			if f.stored(e) && (f.errs == nil || f.errs[e] == nil) {
				f.failOne(e, fmt.Errorf("%w: %w", message.ErrNotJournaled, err))
			}
		}
	}
}
