package inspector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// stocked fills each slot of a topic: n wait, n before their retries, 3 failed ones that are tried at once, n dead, 1 in flight.
func stocked(t testing.TB, rdb redis.UniversalClient, topic message.Topic, n int) {
	t.Helper()
	soon := time.Now().Add(time.Hour).UnixMilli()
	for slot := range topic.Slots {
		k := protocol.KeysOf(topic.Name, slot)
		member := func(what string, score int64) func(int) redis.Z {
			return func(i int) redis.Z { return redis.Z{Member: fmt.Sprint(what, " ", i), Score: float64(score)} }
		}
		fill(t, rdb, k.Store, n, member("waits", soon))
		fill(t, rdb, k.Store, 3, member("failed", 16))
		fill(t, rdb, k.Retry, n, member("retries", soon*100+16))
		fill(t, rdb, k.Prepare, 1, member("flies", time.Now().Unix()*1000+16))
		bury(t, rdb, topic, slot, n, func(i int) (string, time.Time, string) { return fmt.Sprint("dead ", i), noon, whyOf(noon, "-", "x") })
	}
}

// countedIn counts what is left in a topic.
func countedIn(t testing.TB, i *Inspector, topic message.Topic) Counts {
	t.Helper()
	s, err := i.Stats(ctx, topic.Name)
	must.Do(t, err)
	s.Due = 0
	return s.Counts
}

func TestPurge(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		j := &told{}
		i = newInspector(t, i.w.Redis, Config{Journal: j})
		topic := define(t, rdb, message.Topic{Name: topicOf(t, 0, 0).Name, Kind: message.KindFixedTime, Slots: 4, Literal: true})
		for _, c := range []struct {
			q    PurgeQuery
			want Purged
			left Counts
		}{
			{PurgeQuery{}, Purged{Waiting: 3600, Retrying: 3612, Dead: 3600}, Counts{InFlight: 4}},
			{PurgeQuery{Slots: []int{3, 1, 1}}, Purged{Waiting: 1800, Retrying: 1806, Dead: 1800}, Counts{InFlight: 4, Waiting: 1800, Retrying: 1806, Dead: 1800}},
			{PurgeQuery{States: []State{Waiting}}, Purged{Waiting: 3600}, Counts{InFlight: 4, Retrying: 3612, Dead: 3600}},
			{PurgeQuery{States: []State{Retrying}}, Purged{Retrying: 3612}, Counts{InFlight: 4, Waiting: 3600, Dead: 3600}},
			{PurgeQuery{States: []State{Dead, Retrying}, Slots: []int{0}}, Purged{Retrying: 903, Dead: 900}, Counts{InFlight: 4, Waiting: 3600, Retrying: 2709, Dead: 2700}},
			{PurgeQuery{States: []State{Dead}}, Purged{Dead: 3600}, Counts{InFlight: 4, Waiting: 3600, Retrying: 3612}},
		} {
			stocked(t, rdb, topic, 900)
			would, err := i.PurgeCount(ctx, topic.Name, c.q)
			must.Do(t, err)
			var last Purged
			done, err := i.Purge(ctx, topic.Name, c.q, PurgeOptions{Progress: func(p Purged) {
				if p.Total() < last.Total() {
					t.Errorf("%+v after %+v", p, last)
				}
				last = p
			}})
			must.Do(t, err)
			if left := countedIn(t, i, topic); would != c.want || done != c.want || last != c.want || left != c.left {
				t.Errorf("%+v: would %+v, did %+v, left %+v; want %+v, left %+v", c.q, would, done, left, c.want, c.left)
			}
			if len(j.lines) != c.want.Total() {
				t.Errorf("%+v: the journal was told of %d", c.q, len(j.lines))
			}
			j.lines = nil
		}
	})
}

func TestPurgeIsTold(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, _ *Inspector) {
		j := &told{}
		i := newInspector(t, rdb, Config{Journal: j})
		topic := define(t, rdb, topicOf(t, message.KindFixedTime, 1))
		send(t, rdb, topic, message.FixedTime{Content: "a", In: time.Hour})
		bury(t, rdb, topic, 0, 1, func(int) (string, time.Time, string) { return "b", noon, whyOf(noon, "-", "x") })
		_, err := i.Purge(ctx, topic.Name, PurgeQuery{}, PurgeOptions{})
		must.Do(t, err)
		j.want(t, topic.Name+" a cancelled", topic.Name+" b deleted")
	})
}

// A unique message that was purged may be sent again.
func TestPurgedIsUniqueNoMore(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindFixedTime, 1))
		m := message.FixedTime{Content: "a", In: time.Hour, Unique: time.Hour}
		for range 2 {
			send(t, rdb, topic, m)
			if done, err := i.Purge(ctx, topic.Name, PurgeQuery{}, PurgeOptions{}); err != nil || done.Waiting != 1 {
				t.Errorf("%+v, %v", done, err)
			}
		}
	})
}

// A topic that gets new messages all the time is purged all the same, of as many as it had.
func TestPurgeEnds(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb := server.Client(t)
	i := newInspector(t, server.Client(t), Config{})
	topic := define(t, rdb, topicOf(t, message.KindFixedTime, 1))
	stocked(t, rdb, topic, 1000)
	more := 0
	done, err := i.Purge(ctx, topic.Name, PurgeQuery{States: []State{Waiting}}, PurgeOptions{Progress: func(Purged) {
		fill(t, rdb, protocol.StoreKey(topic.Name, 0), 500, func(n int) redis.Z {
			return redis.Z{Member: fmt.Sprint("new ", more, n), Score: float64(time.Now().UnixMilli())}
		})
		more++
	}})
	must.Do(t, err)
	if left := countedIn(t, i, topic); done.Waiting != 1000 || left.Waiting == 0 {
		t.Errorf("%+v, left %+v", done, left)
	}
}

func TestPurgeInterrupted(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, topicOf(t, message.KindFixedTime, 2))
		stocked(t, rdb, topic, 1000)
		ctx, cancel := context.WithCancel(ctx)
		done, err := i.Purge(ctx, topic.Name, PurgeQuery{}, PurgeOptions{Rate: 4000, Progress: func(Purged) { cancel() }})
		if left := countedIn(t, i, topic); !errors.Is(err, context.Canceled) || done != (Purged{Waiting: 400}) || left.Waiting != 1600 {
			t.Errorf("%+v, %v, left %+v", done, err, left)
		}
	})
}

// Answers get lost: all is deleted all the same, and what may be deleted is counted.
func TestPurgeWithoutAnswers(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	i := newInspector(t, proxy.Client(t), Config{})
	topic := define(t, server.Client(t), topicOf(t, message.KindFixedTime, 1))
	stocked(t, server.Client(t), topic, 2000)
	lose := true
	done, err := i.Purge(ctx, topic.Name, PurgeQuery{}, PurgeOptions{Progress: func(Purged) {
		if lose {
			proxy.LoseNextReply("evalsha", "prepare{")
		}
		lose = false
	}})
	must.Do(t, err)
	if left := countedIn(t, i, topic); left != (Counts{InFlight: 1}) || done != (Purged{Waiting: 1600, Retrying: 2003, Dead: 2000, Lost: 400}) {
		t.Errorf("%+v, left %+v", done, left)
	}

	// It stays cut: the error says what is open.
	stocked(t, server.Client(t), topic, 1000)
	breaking, cancel := context.WithCancel(ctx)
	defer cancel()
	_, err = i.Purge(breaking, topic.Name, PurgeQuery{}, PurgeOptions{Rate: 100, Progress: func(Purged) {
		proxy.OnRequest(func([]byte) bool {
			proxy.Cut()
			time.AfterFunc(100*time.Millisecond, cancel)
			return false
		})
	}})
	wantError(t, err, context.Canceled, "the answer is lost", "may have been deleted", topic.Name)
}

// An answer is lost, and new messages come before the call is repeated: no more are removed than there were at the beginning.
func TestPurgeWithoutAnswersLeavesNewOnes(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	rdb, j := server.Client(t), &told{}
	i := newInspector(t, proxy.Client(t), Config{Journal: j})
	for had, want := range map[int]Purged{
		1000: {Waiting: 600, Lost: 400},
		800:  {Waiting: 400, Lost: 400}, // what is repeated may delete none
	} {
		topic := define(t, rdb, message.Topic{Name: fmt.Sprint("orders", had), Kind: message.KindFixedTime, Slots: 1})
		store := protocol.StoreKey(topic.Name, 0)
		fill(t, rdb, store, had, func(n int) redis.Z { return redis.Z{Member: fmt.Sprint("old ", n), Score: 2e12} })
		sent, again := 0, false
		var lost <-chan struct{}
		done, err := i.Purge(ctx, topic.Name, PurgeQuery{States: []State{Waiting}}, PurgeOptions{Progress: func(Purged) {
			if lost != nil {
				return
			}
			lost = proxy.LoseNextReply("evalsha", "prepare{")
			proxy.OnRequest(func(b []byte) bool {
				select {
				case <-lost:
					if !again && bytes.Contains(b, []byte("prepare{")) { // they come first, and the call takes what comes first
						again, sent = true, 300
						fill(t, rdb, store, sent, func(n int) redis.Z { return redis.Z{Member: fmt.Sprint("new ", n), Score: 1.9e12} })
					}
				default:
				}
				return true
			})
		}})
		proxy.OnRequest(nil)
		must.Do(t, err)
		left := countedIn(t, i, topic).Waiting
		if !again || done != want || left != sent+had-done.Waiting-done.Lost || len(j.lines) != done.Waiting {
			t.Errorf("%d: %+v, repeated %v, %d left, the journal got %d", had, done, again, left, len(j.lines))
		}
		j.lines = nil
	}
}

// An outage is sat out where it is met: it costs the answer of one slot, and not those of the slots behind it.
func TestPurgeSitsOutAnOutage(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	i := newInspector(t, proxy.Client(t, func(o *redis.Options) { o.ReadTimeout, o.MaxRetries = await.Patience, -1 }), Config{})
	topic := define(t, server.Client(t), topicOf(t, message.KindFixedTime, 8))
	for slot := range topic.Slots {
		fill(t, server.Client(t), protocol.StoreKey(topic.Name, slot), 100, func(n int) redis.Z {
			return redis.Z{Member: fmt.Sprint("m", n), Score: float64(time.Now().UnixMilli())}
		})
	}
	var dropped atomic.Int32
	begun := false
	done, err := i.Purge(ctx, topic.Name, PurgeQuery{States: []State{Waiting}}, PurgeOptions{Progress: func(Purged) {
		if begun {
			return
		}
		begun = true
		proxy.OnRequest(func(b []byte) bool {
			if bytes.Contains(b, []byte("prepare{")) && dropped.Add(1) <= 3 {
				proxy.LoseNextReply() // that of this request
			}
			return true
		})
	}})
	must.Do(t, err)
	if left := countedIn(t, i, topic); left.Waiting != 0 || done != (Purged{Waiting: 700, Lost: 100}) || dropped.Load() < 4 {
		t.Errorf("%+v, left %+v, of %d requests the first 3 had no answer", done, left, dropped.Load())
	}
}

func TestPurgeRefuses(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	i := newInspector(t, rdb, Config{})
	topic := define(t, rdb, topicOf(t, message.KindFixedTime, 2))
	_, err := i.Purge(ctx, topic.Name, PurgeQuery{States: []State{InFlight}}, PurgeOptions{})
	wantError(t, err, nil, "purge topic "+topic.Name, "States", `"in-flight"`, "waiting, retrying and dead")
	_, err = i.PurgeCount(ctx, topic.Name, PurgeQuery{Slots: []int{2}})
	wantError(t, err, nil, "count what a purge", "slot", "from 0 to 1")
	_, err = i.Purge(ctx, topic.Name, PurgeQuery{States: []State{Dead}, Slots: []int{2}}, PurgeOptions{})
	wantError(t, err, nil, "slot", "from 0 to 1")
	_, err = i.Purge(ctx, topic.Name, PurgeQuery{}, PurgeOptions{Rate: -1})
	wantError(t, err, nil, "Rate", "-1")
	_, err = i.Purge(ctx, "no-such-topic", PurgeQuery{}, PurgeOptions{})
	wantError(t, err, ErrUnknownTopic)
	for _, err := range []error{
		func() error { _, err := i.Purge(nil, topic.Name, PurgeQuery{}, PurgeOptions{}); return err }(), //nolint:staticcheck // what it says of it
		func() error { _, err := i.PurgeCount(nil, topic.Name, PurgeQuery{}); return err }(),            //nolint:staticcheck // what it says of it
	} {
		wantError(t, err, nil, "purge", "ctx is nil")
	}
}
