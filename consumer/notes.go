package consumer

import (
	"time"

	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/upkeep/sweeper"
	"github.com/slotmq/go-rmq/internal/worker/note"
)

// Sends is how many sends have merged into the message since it began to wait, in a topic with
// Notes.
//
// It is 0 if nothing is known: in other topics, of a message that was requeued or that only a plan
// sent, and of one that was sent again in the moment between its take and the look at its note.
// FirstSent, LastSent, Expires and Headers return their zero values then. A retry has the note of
// its first delivery.
func (d *Delivery) Sends() int {
	if n := d.note.Known(); n != nil {
		return int(n.Sends)
	}
	return 0
}

// FirstSent is when the first of the sends was that Sends counts, by the clock of Redis.
func (d *Delivery) FirstSent() time.Time {
	if n := d.note.Known(); n != nil {
		return time.UnixMilli(n.First)
	}
	return time.Time{}
}

// LastSent is when the last of them was, by the clock of Redis.
func (d *Delivery) LastSent() time.Time {
	if n := d.note.Known(); n != nil {
		return time.UnixMilli(n.Last)
	}
	return time.Time{}
}

// Expires is when the time to live of the message ends: the latest end that any of its sends gave
// it, by the clock of Redis. It is zero if the message has none.
func (d *Delivery) Expires() time.Time { return d.note.Expires() }

// Headers are those of the newest send that had any; nil if none had.
func (d *Delivery) Headers() map[string]string {
	if n := d.note.Known(); n != nil {
		return n.Headers
	}
	return nil
}

// Copy says which copy of the message this is, for whoever has to know whether that copy was handled before:
// see package journal. It is false in a topic without Notes, where nobody knows.
func (d *Delivery) Copy() (record.Copy, bool) {
	if d.note == nil {
		return record.Copy{}, false
	}
	c := record.Copy{Topic: d.Topic, Slot: d.Slot, Content: d.Content, Attempt: d.Attempt, Fence: d.Fence}
	d.note.Sign(&c)
	return c, true
}

// readNotes reads the notes of a batch before its first handler is called, in a topic that has them.
// It reports whether the batch may be handled: a message whose note is not read may have expired.
func (b *batch) readNotes() bool {
	if !b.topic.Notes || b.notes != nil {
		return true
	}
	for {
		all, err := note.Read(b.life.Requests, b.rdb, b.topic.Qualified, b.Index, b.answer.Fence, b.answer.Contents)
		if err == nil {
			b.notes = all
			return true
		}
		if !b.AskAgain(err, "Redis does not tell the notes of messages; it is asked again") {
			return false
		}
	}
}

// overOf are the messages of a batch that are handled, dead or dropped, and have notes. Nobody needs the notes
// when Redis has heard what became of the messages.
func overOf(b *batch) (contents []string) {
	for i := range b.notes {
		if b.notes[i].Kept() && b.results[i].Fate.Over() {
			contents = append(contents, b.answer.Contents[i])
		}
	}
	return contents
}

// makeSweeper makes what removes the notes of messages that are over, if any topic has notes.
func (w *running) makeSweeper() {
	var topics []*sweeper.Topic
	for _, t := range w.topics {
		if t.Notes {
			topics = append(topics, &sweeper.Topic{Name: t.Qualified, Scheduled: t.scheduled, Look: t.opts.SafetyLook})
		}
	}
	if topics != nil {
		w.sweeper = sweeper.New(w.needs, topics)
	}
}
