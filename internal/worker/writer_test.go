package worker

import (
	"context"
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/message"
)

// face gives slots back as soon as it has them, but for what ask and unanswered do.
type face struct {
	ask        func(h schedule.Hand) bool
	unanswered func(a *Answer)
}

func (f *face) Ask(h schedule.Hand) bool   { return f.ask(h) }
func (f *face) Show([]Answer, time.Time)   {}
func (f *face) Answered(*Answer)           {}
func (f *face) Took(*Answer)               {}
func (f *face) Busy(*Answer)               {}
func (f *face) Nothing(*Answer, time.Time) {}
func (f *face) Left(*Answer)               {}
func (f *face) Unanswered(a *Answer)       { f.unanswered(a) }
func (f *face) Applied()                   {}
func (f *face) ID(int) string              { return "me" }

// started is a worker whose slots are its own, with a Redis that does what do does.
func started(t *testing.T, slots int, f *face, hurries bool, do func() error) *schedule.Topic {
	t.Helper()
	topic := message.Topic{Name: "t", Kind: message.KindPriority, Slots: slots}
	x := &schedule.Topic{Name: "t", Slots: slots, Most: slots, NewSlot: func(i int) *schedule.Slot {
		own := new(Slot)
		own.Init(topic, "t", i, own)
		return own.Scheduled()
	}}
	s := schedule.New(slots, []*schedule.Topic{x}, time.Now, nil)
	s.Terms.Begin(f)
	all := make([]int, slots)
	for i := range all {
		all[i] = i
	}
	x.Assign(f, all)
	rdb := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	rdb.AddHook(silent(do))
	life := lifetime.New()
	w := New(Config{Life: life, Redis: rdb, Scripts: protocol.New(rdb), Schedule: s, Log: zap.NewNop(), Face: f, Hurries: hurries,
		Away: &away.Watch{Log: away.In(zap.NewNop()), Redis: rdb, Ctx: life.Background, Go: func(func()) bool { return true }}})
	w.Start()
	t.Cleanup(func() {
		s.Close()
		life.End(nil)
		life.Wait()
		_ = rdb.Close()
	})
	return x
}

// silent is a hook by which no command reaches a server.
type silent func() error

func (s silent) DialHook(next redis.DialHook) redis.DialHook { return next }
func (s silent) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error { cmd.SetErr(s()); return cmd.Err() }
}
func (s silent) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(_ context.Context, cmds []redis.Cmder) error {
		err := s()
		for _, cmd := range cmds {
			cmd.SetErr(err)
		}
		return err
	}
}

// Whatever ends a writer's goroutine, another writer goes on with the slots that it did not have in hand.
func TestWriterThatEndsHasASuccessor(t *testing.T) {
	t.Parallel()
	var ended atomic.Int32
	asked := make(chan struct{}, 100)
	f := &face{ask: func(h schedule.Hand) bool {
		if ended.Add(1) <= writers {
			runtime.Goexit()
		}
		asked <- struct{}{}
		h.Slot.Rest(h.Facts, time.Time{})
		return false
	}}
	x := started(t, writers+1, f, false, func() error { return nil })
	for i := range writers + 1 {
		x.Wake(i, 0)
		if i < writers {
			await.True(t, "a writer ends", func() bool { return int(ended.Load()) > i })
		}
	}
	await.Signal(t, "another one takes a slot", asked)
}

// Where somebody waits for each turn, writes that have no answer hold up no other, at the same server either.
func TestSlowWritesHoldUpNoOther(t *testing.T) {
	t.Parallel()
	const slots = writers + 2
	var writes atomic.Int32
	end := make(chan struct{})
	f := &face{ask: func(h schedule.Hand) bool {
		x := slotOf(h.Slot)
		x.Facts = h.Facts
		x.Turn.Count, x.Facts.Open = 1, true
		return true
	}, unanswered: func(*Answer) {}}
	x := started(t, slots, f, true, func() error {
		writes.Add(1)
		<-end
		return errors.New("no answer")
	})
	defer close(end)
	for i := range slots { // each in a write of its own
		x.Wake(i, 0)
		await.True(t, "it is written", func() bool { return int(writes.Load()) > i })
	}
}
