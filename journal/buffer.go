package journal

import (
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/message"
)

// sentRow and endedRow are rows as they gather in memory. seq is their place among all rows.
type sentRow struct {
	seq, number, at, score int64
	topic                  int // of names
	slot                   int
	keeps                  bool
	note, content          string
}

type endedRow struct {
	seq, number, at         int64
	topic, slot, attempt    int
	what                    string
	worker, reason, content string
}

const (
	sentSize  = 120 // bytes of memory a row, besides its content and note
	endedSize = 136
)

// batch is what one transaction writes: rows, and what was lost before them.
type batch struct {
	sent    []sentRow
	ended   []endedRow
	first   int64 // seq of the first row
	bytes   int
	gap     gap
	waiters []*waiter
	closed  time.Time // everything told before is in this batch or an earlier one
}

func (b *batch) rows() int { return len(b.sent) + len(b.ended) }

// gap is what was not kept for want of room.
type gap struct {
	begins, ends   int64 // ms
	sends, endings int64
}

func (g *gap) note(now time.Time, sends, endings int) {
	if sends+endings == 0 {
		return
	}
	if g.begins == 0 {
		g.begins = now.UnixMilli()
	}
	g.ends = now.UnixMilli()
	g.sends += int64(sends)
	g.endings += int64(endings)
}

// waiter is a flight of sends that waits for its commit. The writer, a timer and Close may all want
// to tell it.
type waiter struct {
	then  func(error)
	timer *time.Timer
	told  atomic.Bool
}

func (w *waiter) tell(err error) {
	if w.told.CompareAndSwap(false, true) {
		w.timer.Stop()
		w.then(err)
	}
}

// Ready is an error while the buffer is full, with Full: Refuse, and after Close.
func (j *Journal) Ready() error {
	if err := j.refusal.Load(); err != nil {
		return *err
	}
	return nil
}

// Sent keeps what sends have changed.
func (j *Journal) Sent(all []*record.Sends, then func(error)) {
	j.mu.Lock()
	closing := j.closing
	sends, kept := 0, !closing
	if kept && j.cfg.Full == Drop && j.held >= j.cfg.Buffer {
		kept = false
	}
	for _, s := range all {
		if !kept {
			sends += j.changes(s)
			continue
		}
		j.addSends(s)
	}
	if !kept {
		j.lost.note(time.Now(), sends, 0)
	}
	waits := kept && j.cfg.Wait && j.next.rows() > 0
	if waits {
		w := &waiter{then: then}
		// The timer needs j.mu for its text, so it cannot come before it is noted.
		w.timer = time.AfterFunc(j.cfg.WaitAtMost, func() { w.tell(j.late()) })
		j.next.waiters = append(j.next.waiters, w)
	}
	j.afterAdding()
	j.mu.Unlock()
	switch {
	case waits:
	case closing:
		then(j.unwritten())
	case !kept && j.cfg.Wait:
		then(j.dropped())
	default:
		then(nil)
	}
}

// skips reports whether a send gets no row: a range merge that has merged changes nothing. With
// Wait it is written all the same. What it met may be of another producer, whose row comes later, or
// never; but this send is told that the journal has its message.
func (j *Journal) skips(s *record.Sends, it *record.SentItem) bool {
	return it.Merged && it.Keeps && !s.Topic.Notes && !j.cfg.Wait
}

func (j *Journal) changes(s *record.Sends) (n int) {
	for i := range s.Items {
		if !j.skips(s, &s.Items[i]) {
			n++
		}
	}
	return n
}

// addSends runs with j.mu held.
func (j *Journal) addSends(s *record.Sends) {
	topic, at := j.topic(s.Topic), s.At.UnixMilli()
	for i := range s.Items {
		it := &s.Items[i]
		if j.skips(s, it) {
			continue
		}
		b := j.room(sentSize + len(it.Content) + len(it.Note))
		b.sent = append(b.sent, sentRow{
			seq: j.seq, number: s.Number, at: at, score: it.Score, topic: topic, slot: s.Slot,
			keeps: it.Keeps, note: it.Note, content: it.Content,
		})
	}
}

// Observe keeps what has become of messages.
func (j *Journal) Observe(e *message.Event) {
	interesting := 0
	for i := range e.Items {
		if j.word(e.Items[i].What) != "" {
			interesting++
		}
	}
	if interesting == 0 {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.closing || j.held >= j.cfg.Buffer {
		j.lost.note(time.Now(), 0, interesting)
		j.afterAdding()
		return
	}
	topic, at := j.topic(e.Topic), e.At.UnixMilli()
	for i := range e.Items {
		it := &e.Items[i]
		what := j.word(it.What)
		if what == "" {
			continue
		}
		b := j.room(endedSize + len(it.Content) + len(it.Reason))
		b.ended = append(b.ended, endedRow{
			seq: j.seq, number: e.Fence, at: at, topic: topic, slot: e.Slot, attempt: it.Attempt, what: what,
			worker: e.Worker, reason: it.Reason, content: it.Content,
		})
	}
	j.afterAdding()
}

// word is what rmq_ended calls it; empty for what is not kept.
func (j *Journal) word(what message.What) string {
	if word := ends[what]; word != "" {
		return word
	}
	if j.cfg.Flow == All {
		return flow[what]
	}
	return ""
}

// topic is the index of a topic among those that this process has met. It runs with j.mu held.
func (j *Journal) topic(t message.Topic) int {
	index, ok := j.met[t.Name]
	if !ok {
		index = len(j.topics)
		j.met[t.Name] = index
		j.topics = append(j.topics, topicRow{name: t.Name, definition: definitionOf(t)})
	}
	return index
}

// room numbers one more row, of so many bytes, and returns the batch that it goes into. A batch that is
// full waits in the queue. It runs with j.mu held.
func (j *Journal) room(bytes int) *batch {
	if j.next.rows() >= batchRows || j.next.bytes+bytes > batchBytes && j.next.rows() > 0 {
		j.next.closed = time.Now()
		j.queue = append(j.queue, j.next)
		j.next = j.spare()
	}
	j.seq++
	if j.next.rows() == 0 {
		j.next.first = j.seq
	}
	j.next.bytes += bytes
	j.held += bytes
	return j.next
}

// afterAdding wakes the writer for the first rows, and when they fill a transaction. It runs with
// j.mu held.
func (j *Journal) afterAdding() {
	if j.cfg.Full == Refuse && j.held >= j.cfg.Buffer && !j.closing && j.refusal.Load() == nil {
		err := fullError(j.cause)
		j.refusal.Store(&err)
	}
	signal(j.some)
	if j.next.rows() >= enoughRows || len(j.queue) > 0 {
		signal(j.enough)
	}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
