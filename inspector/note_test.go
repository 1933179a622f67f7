package inspector

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/inspector/audit"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

// A person sees how often a message was sent, until when it is to be handled, and its headers.
func TestExplainANote(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := topicOf(t, message.KindPriority, 4)
		topic.Notes = true
		headers := map[string]string{"tenant": "7"}
		before := rdb.Time(ctx).Val().Truncate(time.Millisecond)
		for _, h := range []map[string]string{headers, nil} {
			send(t, rdb, topic, message.Priority{Content: binary, Priority: 20, TTL: time.Hour, Headers: h}, message.Priority{Content: "plain", Priority: 20})
		}
		after := rdb.Time(ctx).Val()
		n := explain(t, i, topic.Name, binary).Note
		if n == nil || n.Sends != 2 || n.First.Before(before) || n.Last.Before(n.First) || n.Last.After(after) || !maps.Equal(n.Headers, headers) ||
			n.Expires.Before(n.Last.Add(time.Hour)) || n.Expires.After(after.Add(time.Hour)) {
			t.Errorf("%+v", n)
		}
		if n := explain(t, i, topic.Name, "plain").Note; n == nil || n.Sends != 2 || !n.Expires.IsZero() || n.Headers != nil {
			t.Errorf("%+v", n)
		}
		other := topicOf(t, message.KindPriority, 4)
		other.Name += "-other"
		send(t, rdb, other, message.Priority{Content: "plain", Priority: 20})
		if n := explain(t, i, other.Name, "plain").Note; n != nil {
			t.Errorf("%+v", n)
		}
	})
}

// What died because its time to live was over is handled when it is requeued, also if its note was
// left over.
func TestRequeueWhatHasExpired(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := topicOf(t, message.KindFixedTime, 1)
		topic.Notes = true
		send(t, rdb, topic, message.FixedTime{Content: "m", At: time.Now().Add(-time.Hour), TTL: time.Millisecond})
		note := rdb.HGet(ctx, protocol.NoteKey(topic.Name, 0), "m").Val()
		await.True(t, "its time to live is over", func() bool {
			n, _ := protocol.ParseNote(note)
			return rdb.Time(ctx).Val().UnixMilli() > n.Expires
		})
		handled := make(chan consumer.Delivery, 10)
		work(t, rdb, consumer.Config{}, topic, func(_ context.Context, d *consumer.Delivery) error {
			handled <- *d
			return nil
		})
		await.True(t, "it is dead", func() bool { return rdb.ZCard(ctx, protocol.KeysOf(topic.Name, 0).Dead).Val() == 1 })
		await.True(t, "its note is gone", func() bool { return rdb.HLen(ctx, protocol.NoteKey(topic.Name, 0)).Val() == 0 })
		must.Do(t, rdb.HSet(ctx, protocol.NoteKey(topic.Name, 0), "m", note).Err()) // as if its worker had died
		r, err := i.Dead().Requeue(ctx, topic.Name, DeadQuery{}, RequeueOptions{})
		if err != nil || r.Stored != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
		if d := <-handled; d.Attempt != 1 || d.Sends() != 0 || !d.Expires().IsZero() {
			t.Errorf("%+v: %d sends, expires %v", d, d.Sends(), d.Expires())
		}
	})
}

// Verify names each note that nobody can read, and none of those that are left over.
func TestVerifyNotes(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := topicOf(t, message.KindPriority, 2)
		topic.Notes = true
		define(t, rdb, topic)
		must.Do(t, rdb.SAdd(ctx, protocol.TopicsKey, topic.Name).Err())
		key := protocol.NoteKey(topic.Name, 1)
		for n := range 100 {
			must.Do(t, rdb.HSet(ctx, key, name(n), fmt.Sprintf(`%d %d 5 7 0 {"a":"b"}`, n, n)).Err()) // the first says that nothing was sent
		}
		must.Do(t, rdb.HSet(ctx, key, "odd", "what is this?").Err())
		found, err := i.Verify(ctx, nil, nil)
		must.Do(t, err)
		slices.SortFunc(found, func(a, b audit.Violation) int { return strings.Compare(a.Content, b.Content) })
		if len(found) != 2 || found[0].Rule != "NOTE" || found[0].Content != name(0) || found[1].Content != "odd" || found[1].Slot != 1 || found[1].Key != key || found[1].Detail != `it is "what is this?"` {
			t.Errorf("%+v", found)
		}
		must.Do(t, rdb.Del(ctx, key).Err())
		must.Do(t, rdb.Set(ctx, key, "x", 0).Err())
		if found, err := i.Verify(ctx, nil, nil); err != nil || len(found) != 1 || found[0].Rule != "TYPES" {
			t.Errorf("%+v, %v", found, err)
		}
	})
}
