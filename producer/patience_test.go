package producer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// A send whose context has no deadline ends by itself when Redis hangs, and says where: the first one of a topic, a later
// one, and a batch, which waits no longer than a message.
func TestSendsWithoutADeadline(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	p, topic := newProducer(t, server.Client(t, func(o *redis.Options) { o.ReadTimeout = time.Hour }), Config{}), topicOf(t, message.KindFixedTime)
	p.sendTimeout = await.Patience
	mustSend(t, p, topic, message.FixedTime{Content: "before", At: time.Now()})
	server.Pause()
	defer server.Resume()
	p.sendTimeout = 50 * time.Millisecond

	says := func(what string, err error, uncertain bool) {
		t.Helper()
		if want := fmt.Sprintf("Redis does not answer at %s within 50ms", server.Addr()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", what, err)
		}
		if !errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrUncertain) != uncertain {
			t.Errorf("%s: %v", what, err)
		}
	}
	promptly(t, "the sends", func() error {
		other := topic
		other.Name += "-other"
		_, err := p.Send(ctx, other, message.FixedTime{Content: "x", At: time.Now()})
		says("the first to a topic", err, false)
		_, err = p.Send(ctx, topic, message.FixedTime{Content: "x", At: time.Now()})
		says("one to a known topic", err, errors.Is(err, ErrUncertain)) // unless the flusher was too slow to begin with it
		ms := make([]message.Message, 3*flightMessages)                 // 600 s, if each waited
		for i := range ms {
			ms[i] = message.FixedTime{Content: fmt.Sprint(i), At: time.Now()}
		}
		_, err = p.SendBatch(ctx, topic, ms)
		var failed *message.BatchError
		if !errors.As(err, &failed) || len(failed.Indexes) != len(ms) {
			t.Errorf("a batch: %v", err)
			return nil
		}
		says("a message of a batch", failed.Errs[0], errors.Is(failed.Errs[0], ErrUncertain))
		return nil
	})
}

// A deadline of the caller's own counts instead, also a longer one.
func TestOwnDeadlineCounts(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	p, topic := newProducer(t, server.Client(t, func(o *redis.Options) { o.ReadTimeout = time.Hour }), Config{}), topicOf(t, message.KindPriority)
	mustSend(t, p, topic, message.Priority{Content: "before", Priority: 17})
	server.Pause()
	defer server.Resume()
	p.sendTimeout = time.Millisecond
	sent := make(chan error, 1)
	go func() {
		_, err := p.Send(await.Context(t), topic, message.Priority{Content: "x", Priority: 17})
		sent <- err
	}()
	await.Silence(t, "the end of a send with a deadline", sent, 50*time.Millisecond)
	server.Resume()
	if err := await.Signal(t, "the send", sent); err != nil {
		t.Error(err)
	}
}

// lateJournal is one that takes its time.
type lateJournal struct {
	told
	by atomic.Int64
}

func (j *lateJournal) Sent(_ []*record.Sends, then func(error)) {
	time.AfterFunc(time.Duration(j.by.Load()), func() { then(nil) })
}

// What Redis has answered waits for the journal, whose time is bounded by itself.
func TestJournalHasItsOwnTime(t *testing.T) {
	t.Parallel()
	j := &lateJournal{}
	p, topic := newProducer(t, servertest.SharedRedis(t).Client(t), Config{Journal: j}), topicOf(t, message.KindPriority)
	mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})
	for timeout := 20 * time.Millisecond; timeout < await.Patience; timeout *= 2 { // Redis may take longer
		p.sendTimeout = timeout
		j.by.Store(int64(3 * timeout))
		if _, err := p.Send(ctx, topic, message.Priority{Content: "x", Priority: 17}); err == nil {
			return
		}
	}
	t.Error("a send ends by itself while the journal has it")
}

// How long a call waits goes by the client's own patience.
func TestSendTimeout(t *testing.T) {
	t.Parallel()
	durable := Config{Durability: Durability{Replicas: 1, Timeout: 10 * time.Second}}
	for _, c := range []struct {
		rdb  redis.UniversalClient
		cfg  Config
		want time.Duration
	}{
		{redis.NewClient(&redis.Options{}), Config{}, 6 * time.Second},
		{redis.NewClient(&redis.Options{}), durable, 16 * time.Second},
		{redis.NewClient(&redis.Options{ReadTimeout: time.Minute}), Config{}, 61 * time.Second},
		{redis.NewClient(&redis.Options{ReadTimeout: time.Second}), Config{}, 5 * time.Second},
		{redis.NewClient(&redis.Options{ReadTimeout: -1}), durable, 0},
		{redis.NewFailoverClient(&redis.FailoverOptions{SentinelAddrs: []string{"127.0.0.1:1"}}), Config{}, 6 * time.Second},
		{redis.NewClusterClient(&redis.ClusterOptions{Addrs: []string{"127.0.0.1:1"}}), Config{}, 6 * time.Second},
		{redis.NewRing(&redis.RingOptions{}), Config{}, 6 * time.Second},
	} {
		if got := sendTimeoutOf(c.rdb, c.cfg); got != c.want {
			t.Errorf("%T, %+v: %v, want %v", c.rdb, c.cfg.Durability, got, c.want)
		}
		c.rdb.Close()
	}
}

// An alarm that others have set earlier ends no call before its own time.
func TestAlarmOfOthers(t *testing.T) {
	t.Parallel()
	p := newProducer(t, servertest.SharedRedis(t).Client(t), Config{})
	p.sendTimeout = 50 * time.Millisecond
	w := p.waits(ctx)
	begun := time.Now()
	if err := w.wait(make(chan struct{}), rung); !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) < 50*time.Millisecond || !w.over {
		t.Errorf("after %v: %v", time.Since(begun), err)
	}
}
