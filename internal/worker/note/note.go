package note

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// Note is what is known of the sends of a message. Its methods may be called of a nil Note.
type Note struct {
	note  protocol.Note
	topic string // with its namespace
	state state
}

type state uint8

const (
	none  state = iota
	other       // it says nothing of this copy, or cannot be read
	newer       // it is about a copy that was sent since
	known       // it is about this copy
)

// Kept reports whether there is one.
func (n *Note) Kept() bool { return n.state != none }

// Known returns what is known of this copy of the message; nil if nothing is.
func (n *Note) Known() *protocol.Note {
	if n == nil || n.state != known {
		return nil
	}
	return &n.note
}

// Expires is when the time to live of the message ends; zero: never, as far as is known.
func (n *Note) Expires() time.Time {
	if x := n.Known(); x != nil && x.Expires > 0 {
		return time.UnixMilli(x.Expires)
	}
	return time.Time{}
}

// Sign puts into a copy what the note says of it.
func (n *Note) Sign(c *record.Copy) {
	c.Topic.Name = n.topic
	switch n.state {
	case known:
		c.Sends, c.Number = record.SendsKnown, n.note.Stamp
	case newer:
		c.Sends = record.SendsNewer
	}
}

// Read reads the notes of messages that were taken from a slot.
func Read(ctx context.Context, rdb redis.UniversalClient, topic string, slot int, fence int64, contents []string) ([]Note, error) {
	key := protocol.NoteKey(topic, slot)
	node, _, err := cluster.MasterFor(ctx, rdb, key) // a replica may not have them yet
	if err != nil {
		return nil, err
	}
	texts, err := node.HMGet(ctx, key, contents...).Result()
	if cluster.Moved(err) {
		texts, err = rdb.HMGet(ctx, key, contents...).Result()
	}
	if err != nil {
		return nil, script.WrongType(err, key)
	}
	return Parse(topic, fence, texts), nil
}

// Parse reads notes from what HMGET answers.
func Parse(topic string, fence int64, texts []any) []Note {
	all := make([]Note, len(texts))
	for i, x := range texts {
		n := &all[i]
		n.topic = topic
		text, kept := x.(string)
		if !kept {
			continue
		}
		var read bool
		switch n.note, read = protocol.ParseNote(text); {
		case !read:
			n.state = other
		case n.note.Tells(fence):
			n.state = known
		default:
			n.state = newer
		}
	}
	return all
}
