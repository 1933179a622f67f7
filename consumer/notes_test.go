package consumer

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// notedTopic is a topic with notes.
func notedTopic(t testing.TB, kind message.Kind, slots int) message.Topic {
	topic := topicOf(t, kind, slots)
	topic.Notes = true
	return topic
}

// put stores contents that are due, with a note of each, unless that is empty.
func put(t testing.TB, rdb redis.UniversalClient, topic message.Topic, slot int, notes map[string]string) {
	t.Helper()
	_, err := rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for content, note := range notes {
			pipe.ZAdd(ctx, keysOf(topic, slot).Store, redisZ(1000, content)) // a priority, or a time that is over
			if note != "" {
				pipe.HSet(ctx, protocol.NoteKey(topic.Name, slot), content, note)
			}
		}
		return nil
	})
	must.Do(t, err)
}

// ending is a note of one send, at which a time to live ends then.
func ending(at time.Time) string { return fmt.Sprintf("1 1 1000 1000 %d", at.UnixMilli()) }

// noteHook has questions for notes, or calls of forget.lua, fail some times.
type noteHook struct {
	read, failRead   atomic.Int64
	forgot, failThat atomic.Int64
	before, late     func() // a question, and such a call; nil: nothing
}

func (h *noteHook) DialHook(next redis.DialHook) redis.DialHook { return next }

func (h *noteHook) fails(cmd redis.Cmder) bool {
	switch {
	case cmd.Name() == "hmget" && strings.HasPrefix(fmt.Sprint(cmd.Args()[1]), "note{"):
		h.read.Add(1)
		if h.before != nil {
			h.before()
		}
		return h.failRead.Add(-1) >= 0
	case cmd.Name() == "evalsha" && len(cmd.Args()) > 7 && strings.HasPrefix(fmt.Sprint(cmd.Args()[6]), "note{"):
		h.forgot.Add(1)
		if h.late != nil {
			h.late()
		}
		return h.failThat.Add(-1) >= 0
	}
	return false
}

func (h *noteHook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if h.fails(cmd) {
			cmd.SetErr(errors.New("no answer"))
			return cmd.Err()
		}
		return next(ctx, cmd)
	}
}

func (h *noteHook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			if h.fails(cmd) {
				for _, cmd := range cmds {
					cmd.SetErr(errors.New("no answer"))
				}
				return cmds[0].Err()
			}
		}
		return next(ctx, cmds)
	}
}

// listenNoted has messages handled one by one, in parallel or together.
func listenNoted(t testing.TB, rdb redis.UniversalClient, cfg Config, topic message.Topic, how string, o ListenOptions, l ListenerFunc) *Consumer {
	t.Helper()
	c := newConsumer(t, rdb, cfg)
	if o.Parallel = how == "parallel"; how == "together" {
		must.Do(t, c.ListenBatch(topic, BatchFunc(func(ctx context.Context, b *Batch) error {
			for i, d := range b.Messages {
				if err := l(ctx, d); err != nil {
					b.Fail(i, err)
				}
			}
			return nil
		}), BatchOptions{ListenOptions: o}))
	} else {
		must.Do(t, c.Listen(topic, l, o))
	}
	start(t, c)
	return c
}

var waysToHandle = []string{"one by one", "parallel", "together"}

// awaitNotes returns when just these contents have notes.
func awaitNotes(t testing.TB, rdb redis.UniversalClient, topic message.Topic, slot int, want ...string) {
	t.Helper()
	slices.Sort(want)
	await.True(t, fmt.Sprintf("notes are left of %q", want), func() bool {
		got := rdb.HKeys(ctx, protocol.NoteKey(topic.Name, slot)).Val()
		slices.Sort(got)
		return slices.Equal(got, want)
	})
}

// told are the notes that handlers were given, by content, in the order of the deliveries.
type told struct {
	mu     sync.Mutex
	all    map[string][]string
	copies map[string]string
}

func (x *told) add(d *Delivery) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.all == nil {
		x.all, x.copies = map[string][]string{}, map[string]string{}
	}
	if c, ok := d.Copy(); ok {
		x.copies[d.Content] = fmt.Sprint(c.Topic.Name, " ", c.Sends, " ", c.Number, " ", c.Content == d.Content && c.Slot == d.Slot && c.Fence == d.Fence && c.Attempt == d.Attempt)
	}
	ms := func(t time.Time) int64 {
		if t.IsZero() {
			return 0
		}
		return t.UnixMilli()
	}
	x.all[d.Content] = append(x.all[d.Content], fmt.Sprint(d.Sends(), ms(d.FirstSent()), ms(d.LastSent()), ms(d.Expires()), d.Headers()))
}

// A handler is told the note of its copy, at the first delivery and at each retry, and that of no
// other. What is over has no note any more; what is not keeps it.
func TestNotesAreTold(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for _, kind := range kinds {
		for _, how := range waysToHandle {
			topic := notedTopic(t, kind, 1)
			yearAhead := time.Now().Add(365 * 24 * time.Hour)
			whole := fmt.Sprintf(`5 3 1000 2000 %d {"a":"b"}`, yearAhead.UnixMilli())
			put(t, rdb, topic, 0, map[string]string{
				"whole": whole, "bare": "5 1 1000 1000 0", "odd": "no note", "none": "", "fails": whole, "waits": whole, "dies": whole,
			})
			n, told := newNotes(), new(told)
			listenNoted(t, rdb, Config{Backoff: verdict.Schedule(time.Millisecond)}, topic, how, ListenOptions{}, n.around(func(_ context.Context, d *Delivery) error {
				told.add(d)
				switch {
				case d.Content == "fails" && d.Attempt < 3:
					return errors.New("oops")
				case d.Content == "waits":
					return verdict.RetryError(time.Hour, errors.New("oops"))
				case d.Content == "dies":
					return verdict.DeadError(errors.New("oops"))
				}
				return nil
			}))
			contents := []string{"whole", "bare", "odd", "none", "fails", "waits", "dies"}
			n.awaitAll(t, contents)
			awaitNotes(t, rdb, topic, 0, "waits")
			all := fmt.Sprint("3 1000 2000 ", yearAhead.UnixMilli(), " map[a:b]")
			const nothing = "0 0 0 0 map[]"
			for content, want := range map[string][]string{
				"whole": {all}, "bare": {"1 1000 1000 0 map[]"}, "odd": {nothing}, "none": {nothing}, "fails": {all, all, all}, "waits": {all}, "dies": {all},
			} {
				if got := told.all[content]; !slices.Equal(got, want) {
					t.Errorf("%v %s: %s was told %q, want %q", kind, how, content, got, want)
				}
				copied := fmt.Sprint(topic.Name, " ", record.SendsKnown, " 5 true")
				if want[0] == nothing {
					copied = fmt.Sprint(topic.Name, " ", record.SendsUnknown, " 0 true")
				}
				if got := told.copies[content]; got != copied {
					t.Errorf("%v %s: %s is copy %q, not %q", kind, how, content, got, copied)
				}
			}
		}
	}
}

// What is sent again between the take and the look at its note has the note of the new copy by
// then: nothing of it is told with the old one, and it stays for the new one.
func TestNoteOfAFreshCopyIsNotTold(t *testing.T) {
	t.Parallel()
	for _, how := range waysToHandle {
		rdb, worker, topic := shared(t), shared(t), notedTopic(t, message.KindFixedTime, 1)
		hour := rdb.Time(ctx).Val().Add(time.Hour)
		put(t, rdb, topic, 0, map[string]string{"a": "1 1 1000 1000 0", "b": "1 1 1000 1000 0"})
		worker.AddHook(&noteHook{before: func() {
			rdb.ZAdd(ctx, keysOf(topic, 0).Store, redisZ(float64(hour.UnixMilli()), "a"))
			rdb.HSet(ctx, protocol.NoteKey(topic.Name, 0), "a", rdb.HGet(ctx, keysOf(topic, 0).Meta, "batch").Val()+" 9 2000 2000 2000")
		}})
		n, told := newNotes(), new(told)
		listenNoted(t, worker, Config{}, topic, how, ListenOptions{}, n.around(func(_ context.Context, d *Delivery) error {
			told.add(d)
			return nil
		}))
		n.awaitAll(t, []string{"a", "b"})
		awaitNotes(t, rdb, topic, 0, "a")
		if got := fmt.Sprint(told.all); got != "map[a:[0 0 0 0 map[]] b:[1 1000 1000 0 map[]]]" {
			t.Errorf("%s: %s", how, got)
		}
		want := map[string]string{"a": fmt.Sprint(topic.Name, " ", record.SendsNewer, " 0 true"), "b": fmt.Sprint(topic.Name, " ", record.SendsKnown, " 1 true")}
		if !maps.Equal(told.copies, want) {
			t.Errorf("%s: %q, not %q", how, told.copies, want)
		}
	}
}

// In other topics nobody asks for notes.
func TestNoNotesWithoutNotes(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	hook := new(noteHook)
	rdb.AddHook(hook)
	put(t, rdb, topic, 0, map[string]string{"a": "1 2 3 4 5"})
	n, told := newNotes(), new(told)
	work(t, rdb, Config{SafetyLook: 10 * time.Millisecond}, topic, n.around(func(_ context.Context, d *Delivery) error {
		told.add(d)
		return nil
	}))
	n.awaitAll(t, []string{"a"})
	wantEmpty(t, rdb, topic)
	if hook.read.Load()+hook.forgot.Load() > 0 || !slices.Equal(told.all["a"], []string{"0 0 0 0 map[]"}) || len(told.copies) > 0 {
		t.Errorf("told %q, asked %d and %d times", told.all["a"], hook.read.Load(), hook.forgot.Load())
	}
	awaitNotes(t, rdb, topic, 0, "a")
}

// As long as Redis does not tell the notes, nothing is handled; and a worker that closes meanwhile
// hands its batch back.
func TestNotesThatRedisDoesNotTell(t *testing.T) {
	t.Parallel()
	for _, mended := range []bool{true, false} {
		rdb, topic := shared(t), notedTopic(t, message.KindPriority, 1)
		hook := new(noteHook)
		rdb.AddHook(hook)
		hook.failRead.Store(map[bool]int64{true: 1, false: 1 << 60}[mended])
		put(t, rdb, topic, 0, map[string]string{"over": ending(time.Now().Add(-time.Hour)), "fine": ending(time.Now().Add(time.Hour))})
		n := newNotes()
		c := work(t, rdb, Config{}, topic, n.around(func(_ context.Context, d *Delivery) error {
			if asked := hook.read.Load(); asked < 2 || d.Content == "over" {
				t.Errorf("%s is handled after %d questions", d.Content, asked)
			}
			return nil
		}))
		if mended {
			n.awaitAll(t, []string{"fine"})
			awaitDead(t, rdb, topic, 0, "over")
			continue
		}
		await.True(t, "it is asked", func() bool { return hook.read.Load() > 0 })
		must.Do(t, closeIn(c, await.Patience))
		if rdb.ZCard(ctx, keysOf(topic, 0).Store).Val() != 2 || len(n.attempts) > 0 {
			t.Error("it is not handed back")
		}
	}
}

// On a Cluster the notes are read from the master that has the slot.
func TestNotesOnACluster(t *testing.T) {
	t.Parallel()
	rdb, topic := servertest.SharedCluster(t).Client(t), notedTopic(t, message.KindPriority, 8)
	contents := numbered("m", 200)
	for _, content := range contents {
		put(t, rdb, topic, slotOf(topic, content), map[string]string{content: "1 7 1000 2000 0"})
	}
	n, told := newNotes(), new(told)
	work(t, rdb, Config{}, topic, n.around(func(_ context.Context, d *Delivery) error {
		told.add(d)
		return nil
	}))
	n.awaitAll(t, contents)
	for _, content := range contents {
		if got := told.all[content]; !slices.Equal(got, []string{"7 1000 2000 0 map[]"}) {
			t.Errorf("%s was told %q", content, got)
		}
	}
	for slot := range topic.Slots {
		awaitNotes(t, rdb, topic, slot)
	}
}
