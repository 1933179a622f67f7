package consumer

import (
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/upkeep/sweeper"
	"github.com/slotmq/go-rmq/message"
)

// Sends is how many sends have merged into the message since it began to wait, in a topic with
// Notes.
//
// It is 0 if nothing is known: in other topics, of a message that was requeued or that only a plan
// sent, and of one that was sent again in the moment between its take and the look at its note.
// FirstSent, LastSent, Expires and Headers return their zero values then. A retry has the note of
// its first delivery.
func (d *Delivery) Sends() int {
	if d.note == nil || !d.note.told {
		return 0
	}
	return int(d.note.Sends)
}

// FirstSent is when the first of the sends was that Sends counts, by the clock of Redis.
func (d *Delivery) FirstSent() time.Time {
	if d.note == nil || !d.note.told {
		return time.Time{}
	}
	return time.UnixMilli(d.note.First)
}

// LastSent is when the last of them was, by the clock of Redis.
func (d *Delivery) LastSent() time.Time {
	if d.note == nil || !d.note.told {
		return time.Time{}
	}
	return time.UnixMilli(d.note.Last)
}

// Expires is when the time to live of the message ends: the latest end that any of its sends gave
// it, by the clock of Redis. It is zero if the message has none.
func (d *Delivery) Expires() time.Time {
	if d.note == nil || !d.note.told || d.note.Expires == 0 {
		return time.Time{}
	}
	return time.UnixMilli(d.note.Expires)
}

// Headers are those of the newest send that had any; nil if none had.
func (d *Delivery) Headers() map[string]string {
	if d.note == nil || !d.note.told {
		return nil
	}
	return d.note.Headers
}

// Copy says which copy of the message this is, for whoever has to know whether that copy was handled before:
// see package journal. It is false in a topic without Notes, where nobody knows.
func (d *Delivery) Copy() (message.Copy, bool) {
	if d.note == nil {
		return message.Copy{}, false
	}
	c := message.Copy{Topic: d.Topic, Slot: d.Slot, Content: d.Content, Attempt: d.Attempt, Fence: d.Fence}
	c.Topic.Name = d.note.topic.Qualified
	switch {
	case d.note.told:
		c.Sends, c.Number = message.SendsKnown, d.note.Stamp
	case d.note.newer:
		c.Sends = message.SendsNewer
	}
	return c, true
}

// note is what Redis keeps of the sends of a message.
type note struct {
	protocol.Note
	topic *topic
	kept  bool // there is one
	told  bool // it is about this copy, and not about one that was sent since

	newer bool // it is about one that was sent since
}

// readNotes reads the notes of a batch before its first handler is called, in a topic that has them.
// It reports whether the batch may be handled: a message whose note is not read may have expired.
func (b *batch) readNotes() bool {
	if !b.topic.Notes || b.notes != nil {
		return true
	}
	texts, err := b.askNotes()
	for ; err != nil; texts, err = b.askNotes() {
		if !b.askAgain(err, "Redis does not tell the notes of messages; it is asked again") {
			return false
		}
	}
	b.notes = make([]note, len(texts))
	for i, x := range texts {
		n := &b.notes[i]
		text, kept := x.(string)
		n.topic = b.topic
		if n.kept = kept; kept {
			var read bool
			n.Note, read = protocol.ParseNote(text)
			n.told = read && n.Tells(b.answer.Fence)
			n.newer = read && !n.told
		}
	}
	return true
}

// askNotes asks the slot's server for the notes of the messages.
func (b *batch) askNotes() ([]any, error) {
	key := protocol.NoteKey(b.topic.Qualified, b.Index)
	node, _, err := cluster.MasterFor(b.life.Requests, b.rdb, key) // a replica may not have them yet
	if err != nil {
		return nil, err
	}
	texts, err := node.HMGet(b.life.Requests, key, b.answer.Contents...).Result()
	if cluster.Moved(err) {
		return b.rdb.HMGet(b.life.Requests, key, b.answer.Contents...).Result()
	}
	return texts, script.WrongType(err, key)
}

// told is the note of message i; nil if nothing is known.
func (b *batch) told(i int) *protocol.Note {
	if b.notes == nil || !b.notes[i].told {
		return nil
	}
	return &b.notes[i].Note
}

// endOfLife is when the time to live of message i ends; zero: never.
func (b *batch) endOfLife(i int) time.Time {
	n := b.told(i)
	if n == nil || n.Expires == 0 {
		return time.Time{}
	}
	return time.UnixMilli(n.Expires)
}

// over are the messages that are handled, dead or dropped, and have notes. Nobody needs the notes
// when Redis has heard what became of the messages.
func (b *batch) over() (contents []string) {
	for i := range b.notes {
		if b.notes[i].kept && b.results[i].Fate.Over() {
			contents = append(contents, b.answer.Contents[i])
		}
	}
	return contents
}

// makeSweeper makes what removes the notes of messages that are over, if any topic has notes.
func (w *crew) makeSweeper() {
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
