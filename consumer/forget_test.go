package consumer

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/message"
)

// Redis forgets its last writes: it is restarted from an older snapshot, or a replica
// that lags behind takes its place.

// snapshot is what Redis holds of the slots of a topic, at one moment.
type snapshot struct {
	keys  []string
	dumps map[string]string
}

func snapshotOf(t testing.TB, rdb *redis.Client, topic message.Topic) snapshot {
	t.Helper()
	s := snapshot{dumps: map[string]string{}}
	for slot := range topic.WithDefaults().Slots {
		k := keysOf(topic, slot)
		s.keys = append(s.keys, k.Store, k.Prepare, k.Retry, k.Dead, k.Meta, k.Why)
	}
	cmds, err := rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		for _, key := range s.keys {
			pipe.Dump(ctx, key)
		}
		return nil
	})
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	for i, cmd := range cmds {
		if dump, err := cmd.(*redis.StringCmd).Result(); err == nil {
			s.dumps[s.keys[i]] = dump
		}
	}
	return s
}

// restore makes Redis forget what came after the snapshot.
func (s snapshot) restore(t testing.TB, rdb *redis.Client) {
	t.Helper()
	_, err := rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		pipe.Del(ctx, s.keys...)
		for key, dump := range s.dumps {
			pipe.Restore(ctx, key, 0, dump)
		}
		return nil
	})
	must(t, err)
}

// Redis forgets the turn that reported a failure. The worker holds nothing, but the
// number it knows is still the present one: a turn that did not say so would look like
// one that finishes the batch with all of it done, and the message would be lost.
func TestRedisForgetsThatAMessageFailed(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	n := newNotes()
	begun, fail := make(chan struct{}), make(chan struct{})
	var first sync.Once
	c := work(t, rdb, Config{Backoff: Schedule(time.Hour)}, topic, n.around(func(context.Context, *Delivery) error {
		err := error(nil)
		first.Do(func() {
			close(begun)
			<-fail
			err = errors.New("out of paper")
		})
		return err
	}))
	s := newSender(t, rdb, topic)
	s.send(t, "m")
	wait(t, "the message is in its handler", begun)
	inFlight := snapshotOf(t, rdb, topic)
	close(fail)
	eventually(t, "it has failed", func() bool { return rdb.ZCard(ctx, keysOf(topic, 0).Retry).Val() == 1 })
	must(t, c.Settle(ctx))
	inFlight.restore(t, rdb)
	must(t, c.Settle(ctx)) // it looks at the slot
	n.mu.Lock()
	defer n.mu.Unlock()
	if got := n.attempts["m"]; len(got) != 2 || got[1] != 1 {
		t.Errorf("attempts %v of a message whose failure Redis has forgotten; want 1 and 1 again", got)
	}
}

// A worker trusts its lease for less long than Redis does, by a tenth and at least half
// a second: that is the time in which a handler must come to its end.
func TestLeaseIsTrustedForLessLongThanItIs(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for lease, least := range map[time.Duration]time.Duration{time.Second: 500 * time.Millisecond, 30 * time.Second: 3 * time.Second} {
		topic := topicOf(t, message.KindPriority, 1)
		var c *Consumer
		started, checked := make(chan struct{}), make(chan struct{})
		c = work(t, rdb, Config{Lease: lease}, topic, func(context.Context, *Delivery) error {
			defer close(checked)
			<-started
			m := &c.topics[0].slots[0].minder
			m.mu.Lock()
			trusted := m.until
			ends, err := rdb.HGet(ctx, keysOf(topic, 0).Meta, "until").Int64()
			m.mu.Unlock()
			if ahead := time.UnixMilli(ends).Sub(trusted); err != nil || ahead < least-time.Millisecond { // Redis cuts to whole ms
				t.Errorf("a lease of %v is trusted until %v before its end, want at least %v (%v)", lease, ahead, least, err)
			}
			return nil
		})
		close(started)
		newSender(t, rdb, topic).send(t, "m")
		wait(t, "the message is handled", checked)
	}
}
