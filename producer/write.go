package producer

import (
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/silence"
)

// A unique message that is sent again stays unique. Where a command of a slot is sent again, those behind it are, too.
// A unique message among them may have been stored before, and then meets its own entry in seen. If it were sent
// without Unique, and a worker had already handled it, it would be stored a second time, which must not be. So it is
// sent as it was, and its outcome is Accepted.

// Limits of one command: long enough to be cheap, short enough not to hold up
// the server.
const (
	commandMessages = 512
	commandBytes    = 1 << 20
)

// commands builds the commands of a flight.
func (to *writer) commands(f *flight) []*write {
	if len(f.more) > 0 {
		f.growMore(len(f.contents))
	}
	var now int64 // by the clock of the server, which all lanes lead to; 0: not asked yet
	for i := range f.lanes {
		l := &f.lanes[i]
		if l.fromNow {
			if now == 0 {
				at, err := to.clock.now(to.run, l.store())
				if err != nil {
					f.fail(l, err)
					continue
				}
				now = ceilMilli(at.latest()) // late rather than early
			}
			f.each(l, func(e int32) {
				if f.scores[e] < 0 {
					f.scores[e] = now - f.scores[e]
				}
			})
		}
		to.split(f, l)
	}
	for i := range f.writes { // they stay where they are from now on
		f.pending = append(f.pending, &f.writes[i])
	}
	return f.pending
}

func ceilMilli(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }

// split makes the commands of one lane.
func (to *writer) split(f *flight, l *lane) {
	begin, bytes := len(f.entries), 0
	cut := func() {
		if entries := f.entries[begin:len(f.entries):len(f.entries)]; len(entries) > 0 {
			f.writes = append(f.writes, to.command(f, l, entries))
		}
		begin, bytes = len(f.entries), 0
	}
	f.each(l, func(e int32) {
		f.entries = append(f.entries, e)
		if bytes += len(f.contents[e]); int(e) < len(f.more) {
			bytes += len(f.more[e].note)
		}
		if to.cfg.ExactReceipts || len(f.entries)-begin == commandMessages || bytes >= commandBytes {
			cut()
		}
	})
	cut()
}

// command makes one variadic ZADD, or a call of a script where that does not do.
func (to *writer) command(f *flight, l *lane, entries []int32) write {
	store := l.topic.slots[l.slot].key
	begin := len(f.args)
	first := l.topic.Kind.FirstWins() // the first time wins, else the last time or priority
	script := l.fields != 0 || first && l.topic.Literal || to.cfg.MaxWaiting > 0
	switch {
	case l.fields != 0:
		f.args = append(f.args, to.scripts.SendArgs(l.store(), l.fields, !first, to.cfg.MaxWaiting)...)
	case script:
		f.args = append(f.args, to.scripts.AddArgs(l.store(), !first, to.cfg.MaxWaiting)...)
	case first:
		f.args = append(f.args, "zadd", store, "nx")
	default:
		f.args = append(f.args, "zadd", store)
	}
	for _, e := range entries {
		// Pointers are written as what they point to, and cost no allocation.
		if l.fields != 0 {
			f.args = f.appendFields(f.args, l.fields, e)
		} else {
			f.args = append(f.args, &f.scores[e], &f.contents[e])
		}
	}
	args := f.args[begin:len(f.args):len(f.args)]
	w := write{lane: l, entries: entries}
	if script {
		w.Cmder = redis.NewIntSliceCmd(to.run, args...)
	} else {
		w.Cmder = redis.NewIntCmd(to.run, args...)
	}
	return w
}

// write is one command of a flight.
type write struct {
	redis.Cmder
	lane            *lane
	entries         []int32
	uncertain       bool   // a try of it may have been executed
	underReplicated bool   // fewer replicas than asked for have it
	at              server // where this try goes, when that is known
	tried           string // address of the first server of this try

	number *redis.StringCmd // the slot's, read behind this try; nil: it is not needed
	clock  *redis.TimeCmd   // read behind that; nil: the slot had a number
}

// NoRetry keeps the Redis client from repeating the command. A repetition would hide that
// Redis may have executed an earlier try.
func (w *write) NoRetry() bool { return true }

// finish records the answer, and reports false if the command must be sent
// again.
func (w *write) finish(by *writer, f *flight, last bool) bool {
	err := w.Err()
	if err == nil {
		w.record(by, f)
		return true
	}
	w.uncertain = w.uncertain || !refused(err)
	cluster.NoteError(by.run, by.rdb, err)
	by.away.DoubtAt(w.tried, w.lane.store(), err)
	if !last && passes(err) && by.run.Err() == nil {
		w.reset()
		return false
	}
	err = silence.Explain(by.rdb, script.ErrOn(w.Cmder, w.lane.store()))
	if w.uncertain {
		err = fmt.Errorf("%w: %w", ErrUncertain, err)
	}
	for _, e := range w.entries {
		f.failOne(e, err)
	}
	return true
}

// inOrder returns the writes that must be sent again. Where the last send wins, or a send changes
// more than a score, the later writes of the same slot are sent again behind them: else an older one
// would win.
func inOrder(writes []*write, again func(*write) bool) (those []*write) {
	var behind []*lane
	for _, w := range writes {
		switch {
		case slices.Contains(behind, w.lane):
			w.uncertain = w.uncertain || !refused(w.Err()) // else it may have been executed
			w.reset()
		case !again(w):
			continue
		case !w.lane.topic.Kind.FirstWins() || w.lane.fields != 0:
			behind = append(behind, w.lane)
		}
		those = append(those, w)
	}
	return those
}

// reset prepares another try.
func (w *write) reset() {
	w.SetErr(nil)
	w.at = server{}
}

// record notes what the answer says of each entry.
func (w *write) record(by *writer, f *flight) {
	switch cmd := w.Cmder.(type) {
	case *redis.IntCmd:
		w.recordAll(by, f, cmd.Val(), nil)
	case *redis.IntSliceCmd:
		if w.lane.fields != 0 {
			w.recordEach(by, f, cmd.Val())
		} else {
			w.recordAll(by, f, cmd.Val()[0], cmd.Val()[1:])
		}
	}
	if w.underReplicated {
		for _, e := range w.entries {
			f.failOne(e, ErrNotReplicated)
		}
	}
}

// recordAll notes an answer that all entries share, except those that were refused.
func (w *write) recordAll(by *writer, f *flight, stored int64, refused []int64) {
	outcome, accepted := Accepted, len(w.entries)-len(refused)
	switch int(stored) {
	case accepted:
		outcome = Stored
	case 0:
		outcome = Merged
	}
	if !w.underReplicated { // those have failed
		w.lane.merged += accepted - int(stored)
	}
	for _, e := range w.entries {
		f.outcomes[e] = outcome
	}
	for _, at := range refused {
		w.refuse(by, f, w.entries[at-1])
	}
}

// recordEach notes an answer of two integers for each entry: what became of it, and its score.
func (w *write) recordEach(by *writer, f *flight, answers []int64) {
	for i, e := range w.entries {
		switch f.scores[e] = answers[2*i+1]; protocol.SendOutcome(answers[2*i]) {
		case protocol.SendStored:
			f.outcomes[e] = Stored
		case protocol.SendMerged:
			f.outcomes[e] = Merged
			if !w.underReplicated {
				w.lane.merged++
			}
		case protocol.SendDuplicate:
			if !w.uncertain { // else an earlier try of this same command may have stored it
				f.outcomes[e] = Duplicate
			}
		case protocol.SendRefused:
			w.refuse(by, f, e)
		}
	}
}

// refuse notes that the slot was full.
func (w *write) refuse(by *writer, f *flight, e int32) {
	err := fmt.Errorf("%w: slot %d holds %d", ErrQueueFull, w.lane.slot, by.cfg.MaxWaiting)
	if w.uncertain { // an earlier try may have stored it, and a worker taken it since
		err = fmt.Errorf("%w: %w", ErrUncertain, err)
	}
	f.failOne(e, err)
}
