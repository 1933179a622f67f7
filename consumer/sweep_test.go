package consumer

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// A worker that dies between the finish of a batch and the removal of its notes leaves them
// behind. The next one that has the slot removes them, and none of a live copy.
func TestNotesThatWereLeftAreSwept(t *testing.T) {
	t.Parallel()
	rdb, worker, topic := shared(t), shared(t), notedTopic(t, message.KindFixedTime, 1)
	hook := new(noteHook)
	hook.failThat.Store(1 << 60)
	worker.AddHook(hook)
	contents := numbered("m", 20)
	all := map[string]string{}
	for _, content := range contents {
		all[content] = "1 1 1000 1000 0"
	}
	put(t, rdb, topic, 0, all)
	n := newNotes()
	c := work(t, worker, Config{}, topic, n.done())
	n.awaitAll(t, contents)
	wantEmpty(t, rdb, topic)
	must.Do(t, closeIn(c, await.Patience))
	if forgot := hook.forgot.Load(); forgot == 0 {
		t.Error("nothing was to be forgotten")
	}
	awaitNotes(t, rdb, topic, 0, contents...)
	hour := rdb.Time(ctx).Val().Add(time.Hour)
	must.Do(t, rdb.ZAdd(ctx, keysOf(topic, 0).Store, redisZ(float64(hour.UnixMilli()), "m-0")).Err()) // sent again since
	must.Do(t, rdb.ZAdd(ctx, keysOf(topic, 0).Retry, redisZ(float64(hour.UnixMilli()*100+16), "m-1")).Err())
	work(t, rdb, Config{}, topic, newNotes().done())
	awaitNotes(t, rdb, topic, 0, "m-0", "m-1")
}

// A call that comes late, when the content was sent again, leaves the note of the new copy.
func TestNoteOfACopySentSinceIsNotForgotten(t *testing.T) {
	t.Parallel()
	rdb, worker, topic := shared(t), shared(t), notedTopic(t, message.KindFixedTime, 1)
	hour := rdb.Time(ctx).Val().Add(time.Hour)
	n := newNotes()
	again := func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if len(n.attempts) < 2 { // the sweep when the slot is gained
			return
		}
		must.Do(t, rdb.ZAdd(ctx, keysOf(topic, 0).Store, redisZ(float64(hour.UnixMilli()), "m")).Err())
		must.Do(t, rdb.HSet(ctx, protocol.NoteKey(topic.Name, 0), "m", "2 1 2000 2000 0").Err())
	}
	put(t, rdb, topic, 0, map[string]string{"m": "1 1 1000 1000 0", "n": "1 1 1000 1000 0"})
	worker.AddHook(&noteHook{late: again})
	work(t, worker, Config{}, topic, n.done())
	n.awaitAll(t, []string{"m", "n"})
	awaitNotes(t, rdb, topic, 0, "m")
}

// However many notes wait, each look goes on with the next piece: two rounds of a hundred notes
// for each look find all that is left over.
func TestSweepComesRound(t *testing.T) {
	t.Parallel()
	const live = 3000
	rdb, worker, topic := shared(t), shared(t), notedTopic(t, message.KindFixedTime, 1)
	hook, looks := new(noteHook), atomic.Int64{}
	hook.late = func() { // the first look that finds nothing
		if rdb.HLen(ctx, protocol.NoteKey(topic.Name, 0)).Val() == live {
			looks.CompareAndSwap(0, hook.forgot.Load()-1)
		}
	}
	worker.AddHook(hook)
	pipe, hour := rdb.Pipeline(), rdb.Time(ctx).Val().Add(time.Hour)
	for _, content := range numbered("live", live) {
		pipe.ZAdd(ctx, keysOf(topic, 0).Store, redisZ(float64(hour.UnixMilli()), content))
		pipe.HSet(ctx, protocol.NoteKey(topic.Name, 0), content, "1 1 1000 1000 0")
	}
	for _, content := range numbered("left", 100) {
		pipe.HSet(ctx, protocol.NoteKey(topic.Name, 0), content, "1 1 1000 1000 0")
	}
	_, err := pipe.Exec(ctx)
	must.Do(t, err)
	work(t, worker, Config{SafetyLook: 10 * time.Millisecond}, topic, newNotes().done())
	await.True(t, "all that was left over is gone", func() bool { return looks.Load() > 0 })
	if n := looks.Load(); n > 2*(live+100)/100+2 {
		t.Errorf("it took %d looks", n)
	}
	for _, content := range numbered("live", live) {
		if !rdb.HExists(ctx, protocol.NoteKey(topic.Name, 0), content).Val() {
			t.Fatalf("%s has no note any more", content)
		}
	}
}

// While Redis does not answer forget.lua, messages are handled all the same.
func TestHandlingDoesNotWaitForForgetting(t *testing.T) {
	t.Parallel()
	server := servertest.SharedRedis(t)
	rdb, worker, topic := server.Client(t), server.Client(t), notedTopic(t, message.KindPriority, 1)
	stuck := make(chan struct{})
	hook := &noteHook{late: func() { <-stuck }}
	worker.AddHook(hook)
	n := newNotes()
	work(t, worker, Config{SafetyLook: 10 * time.Millisecond}, topic, n.around(func(_ context.Context, d *Delivery) error { return nil }))
	await.True(t, "a call is stuck", func() bool { return hook.forgot.Load() > 0 })
	var all []string
	for round := range 20 {
		these := numbered(fmt.Sprint(round), 100)
		notes := map[string]string{}
		for _, content := range these {
			notes[content] = "1 1 1000 1000 0"
		}
		put(t, rdb, topic, 0, notes)
		newSender(t, rdb, topic).send(t, "wakes")
		all = append(all, these...)
		n.awaitAll(t, all)
	}
	close(stuck)
	awaitNotes(t, rdb, topic, 0)
}
