package recovery

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// A page has at most so many messages, of so many bytes.
const (
	pageMost  = 500
	pageBytes = 1 << 20 // Redis holds each of them several times while a script runs
)

// retryFor is how long a page is repeated that has no answer, as while a server fails over.
const retryFor = 10 * time.Second

// page gathers what one script brings back to a slot.
type page struct {
	x      *restoring
	topic  ledger.Topic
	slot   int
	keys   protocol.SlotKeys
	number int64 // the slot's becomes no smaller
	by     int64 // when Redis had lost it, at the latest, in ms
	raised bool
	lost   []byhand.Lost
	twice  []bool // which of them perhaps were handled
	bytes  int
}

// recheck is how long a program may send before it writes a definition again that is lost; see package
// producer.
const recheck = 35 * time.Second

func (x *restoring) page(t ledger.Topic, slot int, number int64, lost time.Time) *page {
	return &page{x: x, topic: t, slot: slot, keys: protocol.KeysOf(t.Name, slot), number: number, by: lost.UnixMilli()}
}

// add adds a content, if it is owed or dead.
func (p *page) add(ctx context.Context, h ledger.History) error {
	o, v := &p.x.o, &h.Verdict
	l := byhand.Lost{Content: v.Content, Score: v.Score}
	switch {
	case v.What == ledger.Owed && slices.Max(v.Open) > p.x.last: // sent since: it is in Redis, or was handled
		p.x.done.There++
		return nil
	case v.What == ledger.Owed && since(h, o.Since):
		if v.Expires > 0 && v.Expires <= p.x.now().UnixMilli() {
			if !o.Expired {
				p.x.done.Expired++
				return nil
			}
			v.Expires = 0
		}
		if p.topic.Notes {
			l.Note = noteOf(h)
		}
	case v.What == ledger.Dead && since(h, o.Since) && !o.LeaveDead:
		if v.Content == "" {
			p.x.done.Unknown++
			return nil
		}
		p.bury(&l, h)
	default:
		return nil
	}
	p.lost, p.twice = append(p.lost, l), append(p.twice, p.mayBeHandled(h))
	p.bytes += len(l.Content)
	if len(p.lost) < p.x.pace.Most(pageMost) && p.bytes < pageBytes {
		return nil
	}
	return p.put(ctx)
}

// mayBeHandled reports whether a message was due before Redis lost it, or perhaps was sent since.
func (p *page) mayBeHandled(h ledger.History) bool {
	if !p.topic.Kind.Timed() || h.Verdict.Score <= p.by {
		return true
	}
	return h.Verdict.Score <= p.x.now().UnixMilli() && slices.ContainsFunc(h.Sent, func(s ledger.Sent) bool { return s.At > p.by-recheck.Milliseconds() })
}

// since reports whether something of a content that is not over was sent, or brought back, since then.
func since(h ledger.History, begin time.Time) bool {
	ms := begin.UnixMilli()
	return begin.IsZero() ||
		slices.ContainsFunc(h.Sent, func(s ledger.Sent) bool {
			return s.At >= ms && (h.Verdict.What != ledger.Owed || slices.Contains(h.Verdict.Open, s.ID))
		}) ||
		slices.ContainsFunc(h.Ended, func(e ledger.Ended) bool {
			return e.At >= ms && (e.What == ledger.Restored || e.What == h.Verdict.What)
		})
}

// noteOf is the note of a message that waits again.
func noteOf(h ledger.History) *protocol.Note {
	n := &protocol.Note{Expires: h.Verdict.Expires}
	for _, s := range h.Sent {
		if !slices.Contains(h.Verdict.Open, s.ID) {
			continue
		}
		n.Sends++
		n.Stamp = max(n.Stamp, s.Number) // what was handled before, and not told, was in a batch above it
		n.First, n.Last = min(cmp.Or(n.First, s.At), s.At), max(n.Last, s.At)
	}
	if json.Unmarshal([]byte(h.Verdict.Headers), &n.Headers) != nil {
		n.Headers = nil
	}
	return n
}

// bury fills in when a message died, and of what.
func (p *page) bury(l *byhand.Lost, h ledger.History) {
	var last ledger.Ended
	for _, e := range h.Ended {
		if e.What == ledger.Dead && e.Number >= last.Number {
			last = e
		}
	}
	l.Dead, l.Died = true, time.UnixMilli(last.At)
	l.Why = protocol.Failure{Attempts: last.Attempt, First: l.Died, Last: l.Died, Worker: last.Worker, Reason: last.Reason}
	if !p.topic.Kind.Timed() {
		l.Why.Priority = l.Score
	}
}

// put brings the page back, and begins the next one. The first time it also raises the number of the
// slot, if there is nothing else to do.
func (p *page) put(ctx context.Context) error {
	lost := p.lost
	if len(lost) == 0 && (p.raised || p.x.o.DryRun) {
		return nil
	}
	if err := p.x.pace.Wait(ctx, len(lost)); err != nil {
		return err
	}
	var err error
	if p.x.o.DryRun {
		err = p.look(ctx, lost)
	} else {
		err = p.store(ctx, lost)
	}
	p.lost, p.twice, p.bytes, p.raised = p.lost[:0], p.twice[:0], 0, true
	clear(lost)
	if p.x.o.Progress != nil && len(lost) > 0 {
		p.x.o.Progress(p.x.done)
	}
	return err
}

// store writes a page, and tells the journal and the workers. A page that has begun is not cut short when
// ctx ends.
func (p *page) store(ctx context.Context, lost []byhand.Lost) error {
	whole := context.WithoutCancel(ctx)
	end, unsure := time.Now().Add(retryFor), false
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		cmd := byhand.RestoreCmd(whole, p.keys, p.topic.Notes, p.number, lost)
		script.Exec(whole, p.x.rdb, cmd)
		stored, err := byhand.Restored(p.keys, cmd)
		if err == nil {
			number := protocol.NumberCmd(whole, p.topic.Name, p.slot)
			script.Exec(whole, p.x.rdb, number)
			marks := p.count(lost, stored, unsure, protocol.NumberAnswer(number, nil, record.UnknownNumber))
			p.wake(whole)
			return p.x.marks.write(whole, p.x.journal, p.topic, p.slot, marks)
		}
		cluster.NoteError(ctx, p.x.rdb, err)
		unsure = unsure || !cluster.Refused(err)
		if !cluster.Passes(err) || time.Now().After(end) || !wait.Sleep(ctx, pause) {
			if unsure {
				p.x.done.Unsure += len(lost)
				err = fmt.Errorf("the answer is lost, so %d of slot %d may be back: %w", len(lost), p.slot, err)
			}
			return err
		}
	}
}

// look counts what store would do.
func (p *page) look(ctx context.Context, lost []byhand.Lost) error {
	var cmds []redis.Cmder
	for _, key := range []string{p.keys.Store, p.keys.Prepare, p.keys.Retry, p.keys.Dead} {
		args := []any{"zmscore", key}
		for _, l := range lost {
			args = append(args, l.Content)
		}
		cmds = append(cmds, redis.NewSliceCmd(ctx, args...))
	}
	script.ExecOnce(ctx, p.x.rdb, cmds...)
	missing := make([]bool, len(lost))
	for i, l := range lost {
		missing[i] = true
		for n, cmd := range cmds {
			scores, err := cmd.(*redis.SliceCmd).Result()
			if err != nil {
				return fmt.Errorf("look into slot %s: %w", p.keys.Store, err)
			}
			if isDead := n == 3; scores[i] != nil && (l.Dead || !isDead) {
				missing[i] = false
			}
		}
	}
	p.count(lost, missing, false, 0)
	return nil
}

// count counts what became of a page, and returns what the journal is to be told.
func (p *page) count(lost []byhand.Lost, stored []bool, unsure bool, number int64) (marks []ledger.Mark) {
	done := &p.x.done
	for i, l := range lost {
		switch {
		case !stored[i] && unsure: // by a try whose answer is lost, or before
			done.Unsure++
		case !stored[i]:
			done.There++
		case l.Dead:
			done.Dead++
		default:
			done.Waiting++
			if p.twice[i] {
				done.Twice++
			}
		}
		if stored[i] {
			marks = append(marks, ledger.Mark{Content: l.Content, What: ledger.Restored, Number: number})
		}
	}
	return marks
}

// wake makes the workers look at the slot. One that gets lost costs only time.
func (p *page) wake(ctx context.Context) {
	if len(p.lost) == 0 {
		return
	}
	server, _, err := cluster.MasterFor(ctx, p.x.rdb, p.keys.Store)
	if err == nil {
		_ = server.Publish(ctx, protocol.WakeChannel(p.topic.Name), protocol.AppendWake(nil, p.slot, 0)).Err()
	}
}
