package inspector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/slots"
)

// onRedis is onEach for what is the same on both. The server is the test's own.
func onRedis(t testing.TB, cfg Config) (redis.UniversalClient, *Inspector) {
	t.Helper()
	s := servertest.Redis(t)
	return s.Client(t), newInspector(t, bounded(t, s.Client(t)), cfg)
}

func slotOf(topic message.Topic, basis string) int { return slots.Of(basis, topic.Slots) }

func keysOf(topic message.Topic, basis string) protocol.SlotKeys {
	return protocol.KeysOf(topic.Name, slotOf(topic, basis))
}

// put adds a content to a sorted set.
func put(t testing.TB, rdb redis.UniversalClient, key, content string, score float64) {
	t.Helper()
	must.Do(t, rdb.ZAdd(ctx, key, redis.Z{Member: content, Score: score}).Err())
}

// scoreOf is a content's score; -1 if it is not there.
func scoreOf(t testing.TB, rdb redis.UniversalClient, key, content string) float64 {
	t.Helper()
	score, err := rdb.ZScore(ctx, key, content).Result()
	if errors.Is(err, redis.Nil) {
		return -1
	}
	must.Do(t, err)
	return score
}

// serverNow is the time of the server that has a key.
func serverNow(t testing.TB, rdb redis.UniversalClient, k protocol.SlotKeys) time.Time {
	t.Helper()
	cmd := byhand.CountCmd(ctx, k, false)
	script.Exec(ctx, rdb, cmd)
	c, err := byhand.CountAnswer(k, cmd)
	must.Do(t, err)
	return c.Now
}

func TestCancel(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindPriority, 64))
		later := float64(time.Now().Add(time.Hour).UnixMilli())*100 + 12
		for n, c := range []struct {
			name              string
			basis, given      string
			store, retry, fly bool
			removed, inFlight bool
		}{
			{"waits", "", "", true, false, false, true, false},
			{"waits for its retry", "", "", false, true, false, true, false},
			{"in flight", "", "", false, false, true, false, true},
			{"in flight, and sent again", "", "", true, false, true, true, true},
			{"in a slot of its own", "basis", "basis", true, false, false, true, false},
			{"in a slot nobody names", "basis", "", true, false, false, true, false},
			{"retry in a slot nobody names", "basis", "", false, true, false, true, false},
			{"in flight in a slot nobody names", "basis", "", false, false, true, false, true},
			{"nowhere", "", "", false, false, false, false, false},
			{"nowhere in the slot that is named", "", "basis", true, false, false, false, false},
		} {
			content := fmt.Sprint(n, binary)
			k := keysOf(topic, cmp.Or(c.basis, content))
			if c.store {
				put(t, rdb, k.Store, content, 500)
			}
			if c.retry {
				put(t, rdb, k.Retry, content, later)
			}
			if c.fly {
				put(t, rdb, k.Prepare, content, 1e12+16)
			}
			removed, inFlight, err := i.Cancel(ctx, topic.Name, content, c.given)
			if err != nil || removed != c.removed || inFlight != c.inFlight {
				t.Errorf("%s: %v, %v, %v", c.name, removed, inFlight, err)
			}
			if c.removed && (scoreOf(t, rdb, k.Store, content) >= 0 || scoreOf(t, rdb, k.Retry, content) >= 0) {
				t.Errorf("%s: it is still there", c.name)
			}
			if c.fly && scoreOf(t, rdb, k.Prepare, content) < 0 {
				t.Errorf("%s: what was in flight is gone", c.name)
			}
		}
	})
}

// A content that waits in several slots is not touched, and they are named.
func TestInSeveralSlots(t *testing.T) {
	t.Parallel()
	rdb, i := onRedis(t, Config{})
	topic := define(t, rdb, topicOf(t, message.KindPriority, 64))
	others := []int{4, 7, 40} // none is that of the content
	for _, slot := range others {
		put(t, rdb, protocol.StoreKey(topic.Name, slot), "x", 500)
	}
	_, _, err := i.Cancel(ctx, topic.Name, "x", "")
	wantError(t, err, ErrSeveral, "it is in several slots, 4, 7 and 40: give the basis it was sent with", topic.Name)
	_, err = i.Reschedule(ctx, topic.Name, "x", "", Move{Priority: 17})
	wantError(t, err, ErrSeveral, "it is in several slots, 4, 7 and 40: give the basis it was sent with", topic.Name)
	for _, slot := range others {
		if score := scoreOf(t, rdb, protocol.StoreKey(topic.Name, slot), "x"); score != 500 {
			t.Errorf("in slot %d its score is %v", slot, score)
		}
	}
}

func TestReschedule(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		times := define(t, rdb, message.Topic{Name: topicOf(t, 0, 0).Name + "-times", Kind: message.KindFixedTime, Slots: 16})
		levels := define(t, rdb, message.Topic{Name: topicOf(t, 0, 0).Name + "-levels", Kind: message.KindPriority, Slots: 16})
		tomorrow := time.Now().Add(24 * time.Hour).Truncate(time.Millisecond)
		for n, c := range []struct {
			name         string
			topic        message.Topic
			basis, given string
			retry        bool
			to           Move
			due          time.Time     // of what it is afterwards, or
			in           time.Duration // so much after now
			priority     int64
		}{
			{name: "now", topic: times},
			{name: "in a while", topic: times, to: Move{In: time.Hour}, in: time.Hour},
			{name: "at a time", topic: times, to: Move{At: tomorrow}, due: tomorrow},
			{name: "parts of a ms are rounded up", topic: times, to: Move{At: tomorrow.Add(1)}, due: tomorrow.Add(time.Millisecond)},
			{name: "a retry, now", topic: times, retry: true},
			{name: "a retry, at a time", topic: times, retry: true, to: Move{At: tomorrow}, due: tomorrow},
			{name: "by its basis", topic: times, basis: "b", given: "b", to: Move{At: tomorrow}, due: tomorrow},
			{name: "without its basis", topic: times, basis: "b", to: Move{At: tomorrow}, due: tomorrow},
			{name: "a retry without its basis", topic: times, basis: "b", retry: true, to: Move{In: time.Millisecond}, in: time.Millisecond},
			{name: "a retry of a priority topic, now", topic: levels, retry: true},
			{name: "a retry of a priority topic, at a time", topic: levels, basis: "b", retry: true, to: Move{At: tomorrow}, due: tomorrow},
			{name: "priority", topic: levels, to: Move{Priority: 900}, priority: 900},
			{name: "the highest", topic: levels, basis: "b", to: Move{Priority: limits.MaxScore}, priority: limits.MaxScore},
		} {
			content := fmt.Sprint(n, binary)
			k := keysOf(c.topic, cmp.Or(c.basis, content))
			waits := float64(tomorrow.Add(time.Hour).UnixMilli())
			if c.retry {
				put(t, rdb, k.Retry, content, waits*100+12)
			} else {
				put(t, rdb, k.Store, content, waits)
			}
			begin := serverNow(t, rdb, k)
			e, err := i.Reschedule(ctx, c.topic.Name, content, c.given, c.to)
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			want := Entry{Content: content, Slot: e.Slot, State: Waiting, Attempt: 1, Priority: c.priority, Due: e.Due}
			stored := scoreOf(t, rdb, k.Store, content)
			if c.retry {
				want.State, want.Attempt = Retrying, 6
				stored = scoreOf(t, rdb, k.Retry, content)
			}
			if e != want || protocol.KeysOf(c.topic.Name, e.Slot) != k {
				t.Errorf("%s: %+v", c.name, e)
			}
			switch {
			case c.priority > 0:
				if stored != float64(c.priority) {
					t.Errorf("%s: stored with %v", c.name, stored)
				}
				continue
			case c.retry && stored != float64(e.Due.UnixMilli()*100+12), !c.retry && stored != float64(e.Due.UnixMilli()):
				t.Errorf("%s: stored with %v, told %v", c.name, stored, e.Due)
			}
			if c.due.IsZero() {
				if e.Due.Before(begin.Add(c.in)) || e.Due.After(serverNow(t, rdb, k).Add(c.in)) {
					t.Errorf("%s: due at %v", c.name, e.Due)
				}
			} else if !e.Due.Equal(c.due) {
				t.Errorf("%s: due at %v, want %v", c.name, e.Due, c.due)
			}
		}
	})
}

// Where it is instead is told, and nothing is changed.
func TestRescheduleWhatDoesNotWait(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, message.Topic{Name: topicOf(t, 0, 0).Name, Kind: message.KindPriority, Slots: 16, Literal: true})
		k := func(content string) protocol.SlotKeys { return keysOf(topic, content) }
		put(t, rdb, k("retries").Retry, "retries", 179000000000012)
		put(t, rdb, k("failed").Store, "failed", 12)
		put(t, rdb, k("flies").Prepare, "flies", 1e12+16)
		must.Do(t, rdb.HSet(ctx, k("flies").Meta, "holder", "w1", "batch", 1).Err())
		put(t, rdb, k("dead").Dead, "dead", 1e12)
		put(t, rdb, k("basis").Prepare, "elsewhere", 1e12+16)
		for _, c := range []struct{ content, basis, want string }{
			{"retries", "", "waits for its retry, which has a time and no priority"},
			{"failed", "", "is tried again at once"},
			{"flies", "", fmt.Sprintf("it is in flight, in slot %d, with worker w1", slotOf(topic, "flies"))},
			{"elsewhere", "", fmt.Sprintf("in slot %d", slotOf(topic, "basis"))},
			{"elsewhere", "basis", fmt.Sprintf("in slot %d", slotOf(topic, "basis"))},
			{"dead", "", fmt.Sprintf("it is dead, in slot %d; requeue it", slotOf(topic, "dead"))},
			{"nothing", "", "it is nowhere in topic " + topic.Name},
			{"nothing", "basis", "it is nowhere"},
		} {
			_, err := i.Reschedule(ctx, topic.Name, c.content, c.basis, Move{Priority: 100})
			wantError(t, err, ErrNotWaiting, c.want, topic.Name)
		}
		put(t, rdb, k("waits").Store, "waits", 500)
		for _, to := range []Move{{}, {In: time.Hour}, {At: time.Now().Add(time.Hour)}} {
			_, err := i.Reschedule(ctx, topic.Name, "waits", "", to)
			wantError(t, err, message.ErrInvalid, "a time", "a priority", topic.Name+" has no times")
		}
		if score := scoreOf(t, rdb, k("waits").Store, "waits"); score != 500 {
			t.Errorf("its priority is %v", score)
		}
		if score := scoreOf(t, rdb, k("retries").Retry, "retries"); score != 179000000000012 {
			t.Errorf("the retry is due at %v", score)
		}
	})
}

func TestBadMoves(t *testing.T) {
	t.Parallel()
	rdb, i := onRedis(t, Config{})
	times := define(t, rdb, message.Topic{Name: topicOf(t, 0, 0).Name + "-times", Kind: message.KindFixedTime})
	levels := define(t, rdb, message.Topic{Name: topicOf(t, 0, 0).Name + "-levels", Kind: message.KindPriority})
	const tenYears = limits.Span
	for _, c := range []struct {
		topic message.Topic
		to    Move
		words []string
	}{
		{times, Move{At: time.Now().Add(time.Hour), In: time.Hour}, []string{"one of At, In and Priority"}},
		{times, Move{Priority: 20}, []string{"Priority", "20", "fixed-time"}},
		{times, Move{In: -1}, []string{"In", "-1ns", "10 years"}},
		{times, Move{In: tenYears + 1}, []string{"In", "10 years"}},
		{times, Move{In: 10}, []string{"In", "10ns", "1ms"}},
		{times, Move{At: time.Unix(900_000_000, 0)}, []string{"At", "1998", "2000"}},
		{times, Move{At: time.Unix(1, 0)}, []string{"At", "1970"}},
		{times, Move{At: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)}, []string{"At", "9999"}},
		{levels, Move{Priority: 16}, []string{"Priority", "16", "17 to 9007199254740991"}},
		{levels, Move{Priority: -1}, []string{"Priority", "-1"}},
		{levels, Move{Priority: limits.MaxScore + 1}, []string{"Priority"}},
	} {
		put(t, rdb, keysOf(c.topic, "x").Store, "x", 1e12)
		_, err := i.Reschedule(ctx, c.topic.Name, "x", "", c.to)
		wantError(t, err, message.ErrInvalid, append(c.words, c.topic.Name)...)
		if score := scoreOf(t, rdb, keysOf(c.topic, "x").Store, "x"); score != 1e12 {
			t.Errorf("%+v: it is stored with %v", c.to, score)
		}
	}
	_, err := i.Reschedule(ctx, times.Name, "", "", Move{})
	wantError(t, err, message.ErrInvalid, "Content", "empty")
	_, _, err = i.Cancel(ctx, times.Name, "", "")
	wantError(t, err, message.ErrInvalid, "Content", "empty")
	_, _, err = i.Cancel(ctx, "nosuch", "x", "")
	wantError(t, err, ErrUnknownTopic, "nosuch")
	_, err = i.Reschedule(ctx, "nosuch", "x", "", Move{})
	wantError(t, err, ErrUnknownTopic, "nosuch")
}

// A time that has passed is due now, as with a send.
func TestRescheduleToThePast(t *testing.T) {
	t.Parallel()
	rdb, i := onRedis(t, Config{})
	topic := define(t, rdb, message.Topic{Name: topicOf(t, 0, 0).Name, Kind: message.KindFixedTime})
	put(t, rdb, keysOf(topic, "x").Store, "x", float64(time.Now().Add(time.Hour).UnixMilli()))
	past := time.Now().Add(-time.Hour).Truncate(time.Millisecond)
	e, err := i.Reschedule(ctx, topic.Name, "x", "", Move{At: past})
	must.Do(t, err)
	if score := scoreOf(t, rdb, keysOf(topic, "x").Store, "x"); score != float64(past.UnixMilli()) || !e.Due.Equal(past) {
		t.Errorf("it is due at %v, %+v", score, e)
	}
}

// A worker that sleeps is woken by a message that is due now.
func TestRescheduleWakes(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := topicOf(t, message.KindFixedTime, 4)
		handled := make(chan string, 1)
		work(t, rdb, consumer.Config{SafetyLook: time.Hour}, topic, func(_ context.Context, d *consumer.Delivery) error {
			handled <- d.Content
			return nil
		})
		send(t, rdb, topic, message.FixedTime{Content: "x", SlotBasis: "b", At: time.Now().Add(time.Hour)})
		_, err := i.Reschedule(ctx, topic.Name, "x", "", Move{})
		must.Do(t, err)
		await.Signal(t, "it is handled", handled)
	})
}

// A lost answer is not taken for a message that does not wait.
func TestCancelWithoutAnAnswer(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	rdb := server.Client(t)
	i := newInspector(t, bounded(t, proxy.Client(t)), Config{})
	topic := define(t, rdb, topicOf(t, message.KindPriority, 1))
	zadd(t, rdb, protocol.StoreKey(topic.Name, 0), "x", 20)
	_, _, err := i.Cancel(ctx, topic.Name, "y", "") // the script is known from here on
	must.Do(t, err)
	proxy.LoseNextReply("evalsha", topic.Name+"_0", "x")
	_, _, err = i.Cancel(ctx, topic.Name, "x", "")
	wantError(t, err, nil, "the answer is lost, so it may be cancelled", topic.Name)
	if removed, flying, err := i.Cancel(ctx, topic.Name, "x", ""); removed || flying || err != nil {
		t.Errorf("removed %v, in flight %v, %v", removed, flying, err)
	}
}

// Slots that cannot be paused keep no other from it, and are named.
func TestPauseOfAPart(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindPriority, 128))
		for _, slot := range []int{1, 2, 105} {
			must.Do(t, rdb.Set(ctx, protocol.KeysOf(topic.Name, slot).Meta, "no hash", 0).Err())
		}
		n, err := i.Pause(ctx, topic.Name, nil)
		wantError(t, err, nil, "pause topic "+topic.Name, "125 of 128 slots are paused; slots 1, 2, 105 perhaps not", "WRONGTYPE")
		if last := rdb.HGet(ctx, protocol.KeysOf(topic.Name, 127).Meta, "paused").Val(); n != 125 || last == "" {
			t.Errorf("%d slots were paused, the last one since %q", n, last)
		}
		n, err = i.Resume(ctx, topic.Name, nil)
		wantError(t, err, nil, "125 of 128 slots are resumed; slots 1, 2, 105 perhaps not")
		if n != 125 {
			t.Errorf("%d slots were resumed", n)
		}
		n, err = i.Pause(ctx, topic.Name, []int{1, 2})
		wantError(t, err, nil, "pause topic "+topic.Name+": pause")
		if n != 0 {
			t.Errorf("%d slots were paused", n)
		}
	})
}

// From when Pause has returned until Resume, nothing is taken; what is in flight is
// finished.
func TestPauseAndResume(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := topicOf(t, message.KindPriority, 128)
		var mu sync.Mutex
		handled := map[string]int{}
		begun, goOn := make(chan struct{}), make(chan struct{})
		work(t, rdb, consumer.Config{SafetyLook: time.Hour}, topic, func(_ context.Context, d *consumer.Delivery) error {
			if d.Content == "first" {
				close(begun)
				<-goOn
			}
			mu.Lock()
			defer mu.Unlock()
			handled[d.Content]++
			return nil
		})
		count := func() int {
			mu.Lock()
			defer mu.Unlock()
			return len(handled)
		}
		send(t, rdb, topic, message.Priority{Content: "first", Priority: 20})
		await.Signal(t, "the first one is begun", begun)
		if n, err := i.Pause(ctx, topic.Name, nil); err != nil || n != 128 {
			t.Errorf("%d slots were paused, %v", n, err)
		}
		var ms []message.Message
		for n := range 1000 {
			ms = append(ms, message.Priority{Content: name(n), Priority: 20})
		}
		send(t, rdb, topic, ms...)
		close(goOn)
		await.True(t, "the first one is finished", func() bool {
			return rdb.ZCard(ctx, keysOf(topic, "first").Prepare).Val() == 0
		})
		if n := count(); n != 1 {
			t.Errorf("%d were handled while all was paused", n)
		}
		if n, err := i.Pause(ctx, topic.Name, []int{5, 6}); err != nil || n != 0 {
			t.Errorf("paused again: %d slots, %v", n, err)
		}
		if n, err := i.Resume(ctx, topic.Name, []int{5}); err != nil || n != 1 {
			t.Errorf("%d slots were resumed, %v", n, err)
		}
		in := 1
		for n := range 1000 {
			if slotOf(topic, name(n)) == 5 {
				in++
			}
		}
		await.True(t, "those of slot 5 are handled", func() bool { return count() == in })
		if n, err := i.Resume(ctx, topic.Name, nil); err != nil || n != 127 {
			t.Errorf("%d slots were resumed, %v", n, err)
		}
		await.True(t, "all are handled", func() bool { return count() == 1001 })
		_, err := i.Pause(ctx, topic.Name, []int{0, 128})
		wantError(t, err, message.ErrInvalid, "slot", "128", "0 to 127", topic.Name, "pause")
		_, err = i.Resume(ctx, topic.Name, []int{-1})
		wantError(t, err, message.ErrInvalid, "slot", "-1", "resume")
		_, err = i.Pause(ctx, "nosuch", nil)
		wantError(t, err, ErrUnknownTopic, "nosuch")
	})
}
