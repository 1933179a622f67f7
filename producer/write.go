package producer

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/nodes"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// Limits of one command: long enough to be cheap, short enough not to hold up
// the server.
const (
	commandMessages = 512
	commandBytes    = 1 << 20
)

// commands builds the commands of a flight.
func (p *Producer) commands(f *flight) []*write {
	var writes []*write
	for i := range f.lanes {
		l := &f.lanes[i]
		if err := p.agree(p.run, l.topic); err != nil {
			f.fail(l, err)
			continue
		}
		if l.topic.Kind == message.KindRangeMerge {
			now, err := p.clock.at(p.run, l.topic.store(l.slot))
			if err != nil {
				f.fail(l, err)
				continue
			}
			f.each(l, func(e int32) { f.scores[e] += ceilMilli(now) })
		}
		writes = append(writes, p.split(f, l)...)
	}
	return writes
}

func ceilMilli(t time.Time) int64 { return t.Add(time.Millisecond - 1).UnixMilli() }

// split makes the commands of one lane.
func (p *Producer) split(f *flight, l *lane) (writes []*write) {
	begin, bytes := len(f.entries), 0
	cut := func() {
		if entries := f.entries[begin:len(f.entries):len(f.entries)]; len(entries) > 0 {
			writes = append(writes, p.command(f, l, entries))
		}
		begin, bytes = len(f.entries), 0
	}
	f.each(l, func(e int32) {
		f.entries = append(f.entries, e)
		bytes += len(f.contents[e])
		if p.cfg.ExactReceipts || len(f.entries)-begin == commandMessages || bytes >= commandBytes {
			cut()
		}
	})
	cut()
	return writes
}

// command makes one variadic ZADD, or its like for literal range merges.
func (p *Producer) command(f *flight, l *lane, entries []int32) *write {
	store := l.topic.store(l.slot)
	begin := len(f.args)
	switch {
	case l.topic.Kind == message.KindRangeMerge && l.topic.Literal:
		f.args = append(f.args, p.scripts.MergeArgs(store, 0)...)
	case l.topic.Kind == message.KindRangeMerge:
		f.args = append(f.args, "zadd", store, "nx") // the first time wins
	default:
		f.args = append(f.args, "zadd", store) // the last time or priority wins
	}
	for _, e := range entries {
		// Pointers are written as what they point to, and cost no allocation.
		f.args = append(f.args, &f.scores[e], &f.contents[e])
	}
	args := f.args[begin:len(f.args):len(f.args)]
	return &write{IntCmd: redis.NewIntCmd(p.run, args...), lane: l, entries: entries}
}

// write is one command of a flight.
type write struct {
	*redis.IntCmd
	lane      *lane
	entries   []int32
	uncertain bool // a try of it may have been executed
	short     bool // of replicas
}

// NoRetry keeps the Redis client from repeating the command by itself, which
// would hide that an earlier try may have been executed.
func (w *write) NoRetry() bool { return true }

// finish records the answer, and reports false if the command must be sent
// again.
func (w *write) finish(p *Producer, f *flight, last bool) bool {
	stored, err := w.Result()
	if err == nil {
		outcome := Accepted
		switch int(stored) {
		case len(w.entries):
			outcome = Stored
		case 0:
			outcome = Merged
		}
		for _, e := range w.entries {
			f.outcomes[e] = outcome
			if w.short {
				f.failOne(e, ErrNotReplicated)
			}
		}
		return true
	}
	w.uncertain = w.uncertain || !refused(err)
	nodes.Failed(p.run, p.rdb, err)
	if !last && passing(err) && p.run.Err() == nil {
		w.SetErr(nil)
		return false
	}
	if w.uncertain {
		err = fmt.Errorf("%w: %w", ErrUncertain, err)
	}
	for _, e := range w.entries {
		f.failOne(e, err)
	}
	return true
}

// exec sends commands, and waits for replicas where that is asked for.
func (p *Producer) exec(wakes []redis.Cmder, writes []*write) {
	if p.cfg.Durability.Replicas > 0 {
		p.scripts.Exec(p.run, wakes...)
		p.execDurably(writes)
		return
	}
	cmds := append(make([]redis.Cmder, 0, len(wakes)+len(writes)), wakes...)
	for _, w := range writes {
		cmds = append(cmds, w)
	}
	p.scripts.Exec(p.run, cmds...)
}

// execDurably sends each node its commands with a WAIT behind them, on one
// connection, because WAIT speaks of the connection's own writes.
func (p *Producer) execDurably(writes []*write) {
	byNode := map[redis.UniversalClient][]*write{}
	for _, w := range writes {
		node, _, err := nodes.MasterFor(p.run, p.rdb, w.lane.topic.store(w.lane.slot))
		if err != nil {
			w.SetErr(fmt.Errorf("%w: %w", errUnsent, err))
			continue
		}
		byNode[node] = append(byNode[node], w)
	}
	for node, writes := range byNode {
		d := p.cfg.Durability
		wait := redis.NewIntCmd(p.run, "wait", d.Replicas, d.Timeout.Milliseconds())
		cmds := make([]redis.Cmder, 0, len(writes)+1)
		for _, w := range writes {
			cmds = append(cmds, w)
		}
		luascripts.New(node).Exec(p.run, append(cmds, wait)...)
		for _, w := range writes {
			w.short = wait.Err() != nil || int(wait.Val()) < d.Replicas
		}
	}
}
