package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/sharing/share"
	"github.com/slotmq/go-rmq/internal/upkeep/periodic"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// byRedis shares the slots out by a list of members in Redis for each topic. A batch is
// held by its lease, and the worker has one id as long as it works.
type byRedis struct {
	*parts
	newcomers *newcomers
	entering  *periodic.Lines[*Topic] // lists that the worker is in, and stays in
	coming    *periodic.Lines[*Topic] // lists to come into: a newcomer may have to ask a server that hangs what is in flight
}

func newByRedis(p *parts) sharing {
	f := &byRedis{parts: p, newcomers: &newcomers{p}}
	f.entering = periodic.NewLines(topicsAtOnce, f.Life.Attend, f.refresh)
	f.coming = periodic.NewLines(topicsAtOnce, f.Life.Attend, func(server string, topics []*Topic) {
		in := func(t *Topic) bool { return t.listed.Load() } // it was listed while it waited here, and need not wait for what the others ask
		f.refresh(server, slices.DeleteFunc(slices.Clone(topics), in))
	})
	return f
}

func (f *byRedis) defined() definition.Sharing {
	return definition.Sharing{Way: definition.SharingRedis}
}

func (f *byRedis) join(ctx context.Context) error {
	t := f.terms.open(f.Log)
	t.id, t.Claim = f.ID, &leases{id: f.ID, length: f.Lease, schedule: f.schedule}
	f.terms.begin(t)
	return periodic.Each(ctx, byServer(ctx, f.Redis, f.Topics, protocol.WorkersKey), f.enter)
}

func (f *byRedis) attend(t *Topic) {
	lines := f.entering
	if !t.listed.Load() {
		lines = f.coming
	}
	lines.Add(serverOf(f.Life.Background, f.Redis, t, protocol.WorkersKey), t)
}

func (f *byRedis) next(t *Topic, now time.Time) time.Duration { return f.newcomers.next(t, now) }

// refresh keeps the worker in the lists of some topics.
func (f *byRedis) refresh(_ string, topics []*Topic) {
	if f.Life.Background.Err() != nil || len(topics) == 0 {
		return
	}
	if err := f.enter(f.Life.Background, topics); err != nil && f.Life.Background.Err() == nil {
		cluster.NoteError(f.Life.Background, f.Redis, err)
		level := f.Away.Level(protocol.WorkersKey(topics[0].Qualified), err)
		f.Log.Log(level, "lists of members could not be refreshed", zap.Error(err))
	}
}

// enter enters the worker in some topics' lists of members, and works at the slots
// that are its share by them. A newcomer may have to wait.
func (f *byRedis) enter(ctx context.Context, topics []*Topic) error {
	now := time.Now()
	in, out := []*entry{}, []*entry{}
	for _, t := range topics {
		if t.listed.Load() {
			in = append(in, &entry{topic: t})
		} else {
			out = append(out, &entry{topic: t})
		}
	}
	f.list(ctx, out, now, false)
	var wrong error
	var changed []*Topic
	kept := f.newcomers.keptOut(ctx, out, now)
	for _, e := range out {
		switch {
		case e.err != nil:
			wrong = cmp.Or(wrong, e.err)
		case !kept[e.topic]:
			in = append(in, &entry{topic: e.topic})
		case e.changed: // one of the others has vanished
			changed = append(changed, e.topic)
		}
	}
	f.list(ctx, in, now, true)
	for _, e := range in {
		t := e.topic
		if e.err != nil {
			wrong = cmp.Or(wrong, e.err)
			continue
		}
		if e.changed {
			changed = append(changed, t)
		}
		f.terms.assign(t, f.terms.present.Load(), share.Of(e.members, t.Slots)[f.ID])
		t.listed.Store(true) // from now on another goroutine enters it
	}
	f.announceMembers(changed)
	return wrong
}

// list enters the worker in some topics' lists of members, or takes it out.
func (f *byRedis) list(ctx context.Context, entries []*entry, now time.Time, here bool) {
	cmds := make([]redis.Cmder, len(entries))
	for i, e := range entries {
		cmds[i] = f.Scripts.MembersCmd(ctx, e.topic.Qualified, f.ID, f.newcomers.counts(e.topic, now), here)
	}
	f.Scripts.Exec(ctx, cmds...)
	for i, e := range entries {
		e.members, e.changed, e.err = protocol.MembersAnswer(e.topic.Qualified, f.ID, cmds[i])
	}
}

// leave takes the worker out of the lists of members.
func (f *byRedis) leave(ctx context.Context) {
	var leaving sync.WaitGroup
	for _, some := range byServer(ctx, f.Redis, f.Topics, protocol.WorkersKey) {
		leaving.Go(func() {
			entries := make([]*entry, len(some))
			for i, t := range some {
				entries[i] = &entry{topic: t}
			}
			f.list(ctx, entries, time.Now(), false)
			var left []*Topic
			var wrong error
			for _, e := range entries {
				if wrong = cmp.Or(wrong, e.err); e.err == nil {
					left = append(left, e.topic)
				}
			}
			if wrong != nil {
				f.Log.Warn("lists of members could not be left", zap.Error(wrong))
			}
			f.announceMembers(left)
		})
	}
	_ = wait.Group(ctx, &leaving) // a Redis client may ignore ctx
}

// announceMembers says that the lists of some topics, which are on one server, have changed.
func (f *byRedis) announceMembers(topics []*Topic) {
	names := make([]string, len(topics))
	for i, t := range topics {
		names[i] = t.Qualified
	}
	f.Publisher.MembersChanged(names)
}

func (f *byRedis) undo(ctx context.Context) { f.leave(ctx) }

func (f *byRedis) end() { f.terms.present.Load().end(nil) }

// abandon leaves what the worker holds to its lease.
func (f *byRedis) abandon() {}

func (f *byRedis) silent() error { return errors.New("Redis does not answer") }

// leases hold the batches of a worker: each has its own.
type leases struct {
	id       string
	length   time.Duration
	schedule *schedule.Schedule
}

// ID is the worker's. A slot that stands in the place of one whose handler hangs has an id
// of its own, because the one before still has its batch until the lease is over.
func (l *leases) ID(replacement int) string {
	if replacement > 0 {
		return fmt.Sprintf("%s+%d", l.id, replacement)
	}
	return l.id
}

func (l *leases) Lease() time.Duration { return l.length }

func (l *leases) trusted(time.Time) bool { return true }

// Dead is never known: a worker that died is missed when its lease is over.
func (l *leases) Dead(string) bool { return false }

func (l *leases) Suspect(*schedule.Slot, string, time.Duration) {}

func (l *leases) Overtaken() {}

// Hung makes another slot go on in the place of this one when its lease is over.
func (l *leases) Hung(x *schedule.Slot) { x.ReplaceHung() }
