package poll

import (
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/worker/note"
)

// A topic with Notes keeps beside each message what is known of its sends. It is read when the message is taken, and
// removed when that is over.

// readNotes fills in what is known of the sends of messages, and returns which of them come too late. It is false
// if Redis does not say.
func (d delivery) readNotes(h *Held) (late map[string]bool, ok bool) {
	if !d.definition.Notes {
		return nil, true
	}
	key, ctx := protocol.NoteKey(d.qualified, h.Slot), d.life.Requests
	contents := make([]string, len(h.Messages))
	for i, m := range h.Messages {
		contents[i] = m.Content
	}
	node, _, err := cluster.MasterFor(ctx, d.process.cfg.Redis, key) // a replica may not have them yet
	if err == nil {
		pipe := node.Pipeline()
		texts, clock := pipe.HMGet(ctx, key, contents...), pipe.Time(ctx)
		if _, err = pipe.Exec(ctx); err == nil {
			return h.fill(note.Parse(d.qualified, h.Fence, texts.Val()), clock.Val()), true
		}
	}
	d.log.Warn("Redis does not tell the notes of a batch, which is given back", zap.Int("slot", h.Slot), zap.Error(err))
	return nil, false
}

// fill fills in notes, and returns which messages come too late at a time.
func (h *Held) fill(all []note.Note, now time.Time) (late map[string]bool) {
	for i := range all {
		n := all[i].Known()
		if n == nil {
			continue
		}
		m := &h.Messages[i]
		m.Sends, m.FirstSent, m.LastSent, m.Headers = int(n.Sends), time.UnixMilli(n.First), time.UnixMilli(n.Last), n.Headers
		if m.Expires = all[i].Expires(); !m.Expires.IsZero() && !m.Expires.After(now) {
			if late == nil {
				late = map[string]bool{}
			}
			late[m.Content] = true
		}
	}
	return late
}

// forgetNotes has Redis forget the notes of messages that are over, if they have any.
func (e *ending) forgetNotes() {
	p, r := e.process, e.receipt
	if !r.topic.Notes {
		return
	}
	var over []string
	for i, v := range e.fates {
		if v == nil || v.fate == protocol.Dead {
			over = append(over, e.contents[i])
		}
	}
	if over == nil {
		return
	}
	p.life.Go(func() {
		cmd := p.scripts.ForgetCmd(p.life.Requests, p.keysOf(r), over)
		p.scripts.Exec(p.life.Requests, cmd)
		if _, _, err := protocol.ForgetAnswer(cmd); err != nil { // a sweep finds them
			p.log.Debug("notes were not removed", zap.String("topic", r.topic.Name), zap.Int("slot", r.slot), zap.Error(err))
		}
	})
}
