package rmqotel

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// A content is not remembered where there is no room, and the hash of a slot ends when
// nothing new comes.
func TestLinksAreBounded(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rdb := servertest.Redis(t).Client(t)
	k := protocol.KeysOf("bounded-links", 0)
	keys := []string{protocol.TraceKey("bounded-links", 0), k.Store, k.Meta, k.Prepare, k.Retry}
	for content, key := range map[string]string{"a": k.Store, "b": k.Prepare, "c": k.Retry} {
		rdb.ZAdd(ctx, key, redis.Z{Score: 1, Member: content})
	}
	remember := func(expiry time.Duration, contents ...any) int {
		t.Helper()
		left, err := rememberScript.Run(ctx, rdb, keys, append([]any{"00-aa-bb-01", expiry.Milliseconds(), 3}, contents...)...).Int()
		if err != nil {
			t.Fatal(err)
		}
		return left
	}
	if left := remember(time.Hour, "a", "b"); left != 0 {
		t.Errorf("%d had no room", left)
	}
	if ttl := rdb.PTTL(ctx, keys[0]).Val(); ttl <= 59*time.Minute || ttl > time.Hour {
		t.Errorf("it ends in %v", ttl)
	}
	if left := remember(2*time.Hour, "c", "d", "e"); left != 2 {
		t.Errorf("%d had no room", left)
	}
	if ttl := rdb.PTTL(ctx, keys[0]).Val(); ttl <= time.Hour {
		t.Errorf("what was added does not keep it: %v", ttl)
	}
	if left := remember(9*time.Hour, "a", "d"); left != 1 {
		t.Errorf("%d had no room", left)
	}
	if ttl := rdb.PTTL(ctx, keys[0]).Val(); ttl > 2*time.Hour {
		t.Errorf("a full one is kept alive: %v", ttl)
	}
	if n := rdb.HLen(ctx, keys[0]).Val(); n != 3 {
		t.Errorf("%d are remembered", n)
	}
}

// What was cancelled, or came too late, never reaches the middleware. It takes no room from what
// is sent later, nor does it from what waits.
func TestLinksOfWhatWasCancelledMakeRoom(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rdb := servertest.SharedRedis(t).Client(t)
	w := newWorld(t, rdb, rmq.Config{}, Config{Links: true})
	topic := rmq.Topic{Name: "offers", Kind: rmq.KindPriority, Slots: 1}
	dest := w.tel.destination(topic)
	send := func(name string, n int) (contents []string) {
		t.Helper()
		for i := range n {
			contents = append(contents, fmt.Sprint(name, i))
		}
		for some := range slices.Chunk(contents, perScript) {
			var batch []rmq.Message
			for _, content := range some {
				batch = append(batch, rmq.Priority{Content: content, Priority: 17})
			}
			_, err := w.client.SendBatch(ctx, topic, batch)
			w.must(err)
		}
		return contents
	}
	waiting := send("waits", mostContents/10)
	w.must(rdb.ZRem(ctx, protocol.StoreKey(dest, 0), anys(send("cancelled", mostContents-len(waiting)))...).Err())
	later := send("later", 2*perScript)
	last := send("last", 1)
	for i, one := range rdb.HMGet(ctx, protocol.TraceKey(dest, 0), slices.Concat(waiting, last)...).Val() {
		if one == nil {
			t.Fatalf("%s is not remembered", slices.Concat(waiting, last)[i])
		}
	}
	kept := 0
	for _, one := range rdb.HMGet(ctx, protocol.TraceKey(dest, 0), later...).Val() {
		if one != nil {
			kept++
		}
	}
	if n := rdb.HLen(ctx, protocol.TraceKey(dest, 0)).Val(); n > mostContents || kept < len(later)*3/4 {
		t.Errorf("%d are remembered, with %d of the %d that were sent when there was no room", n, kept, len(later))
	}
}

func anys(all []string) (anys []any) {
	for _, s := range all {
		anys = append(anys, s)
	}
	return anys
}

// The steps of remember and forget, and which copy a batch has.
func TestCopies(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	rdb := servertest.Redis(t).Client(t)
	k := protocol.KeysOf("copies", 0)
	key := protocol.TraceKey("copies", 0)
	n := 0
	remember := func() {
		t.Helper()
		n++
		span := fmt.Sprintf("00-%032x-%016x-01", n, n)
		if err := rememberScript.Run(ctx, rdb, []string{key, k.Store, k.Meta, k.Prepare, k.Retry}, span, 60_000, 10, "x").Err(); err != nil {
			t.Fatal(err)
		}
	}
	send := func() { // remembered, and stored
		t.Helper()
		remember()
		rdb.ZAdd(ctx, k.Store, redis.Z{Score: 17, Member: "x"})
	}
	take := func(fence int) { // whatever is in the store
		rdb.HSet(ctx, k.Meta, "batch", fence)
		rdb.Del(ctx, k.Store)
		rdb.ZAdd(ctx, k.Prepare, redis.Z{Score: 1, Member: "x"})
	}
	pass := func(fence int) { rdb.HSet(ctx, k.Meta, "batch", fence) } // a turn that takes something else
	finish := func(fence int) {
		t.Helper()
		rdb.Del(ctx, k.Prepare)
		if err := forgetScript.Run(ctx, rdb, []string{key}, fence, "x").Err(); err != nil {
			t.Fatal(err)
		}
	}
	want := func(fence int64, first, last, count int) {
		t.Helper()
		got := sendsOf(rdb.HGet(ctx, key, "x").Val(), fence)
		var ids [2]string
		for i, c := range []trace.SpanContext{got.first, got.last} {
			if c.IsValid() {
				ids[i] = c.SpanID().String()
			}
		}
		if wanted := [2]string{fmt.Sprintf("%016x", first), fmt.Sprintf("%016x", last)}; count == 0 && got.count != 0 || count > 0 && (ids != wanted || got.count != int64(count)) {
			t.Errorf("batch %d has %v of %d sends, not %v of %d", fence, ids, got.count, wanted, count)
		}
	}

	remember() // 1 is not stored yet
	send()     // 2
	want(5, 1, 2, 2)
	pass(5)
	send() // 3 merges, though the slot has gone on
	take(7)
	want(7, 1, 3, 3)
	send() // 4 is another copy
	send() // 5
	want(7, 1, 3, 3)
	want(9, 4, 5, 2)
	finish(7)
	want(7, 0, 0, 0)
	want(9, 4, 5, 2)
	take(9)
	send() // 6
	want(9, 4, 5, 2)
	take(11) // 9 was never finished here
	send()   // 7
	want(11, 6, 6, 1)
	want(13, 7, 7, 1)
	take(13)
	rdb.ZAdd(ctx, k.Store, redis.Z{Score: 17, Member: "x"}) // of a send that was remembered before the take
	send()                                                  // 8 does not belong to the batch
	want(13, 7, 7, 1)
	want(15, 8, 8, 1)
	finish(13)
	take(15)
	finish(15)
	if left := rdb.HGetAll(ctx, key).Val(); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
}

func TestTraceparent(t *testing.T) {
	t.Parallel()
	for _, flags := range []trace.TraceFlags{0, trace.FlagsSampled} {
		c := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 2, 0xff}, SpanID: trace.SpanID{3}, TraceFlags: flags, Remote: true})
		if got := spanOf(traceparent(c)); !got.Equal(c) {
			t.Errorf("%v became %v", c, got)
		}
	}
	for _, bad := range []string{"", "x", "00-x-y-01", "00-" + fmt.Sprintf("%032x", 0) + "-" + fmt.Sprintf("%016x", 1) + "-01"} {
		if spanOf(bad).IsValid() {
			t.Errorf("%q is read", bad)
		}
	}
	for _, bad := range []string{"", "1 2 3", "x a b 1", "1 a b x", "é é é é"} {
		if got := sendsOf(bad, 99); len(got.links()) != 0 {
			t.Errorf("%q is read as %v", bad, got)
		}
	}
	if traceparent(trace.SpanContext{}) != "" {
		t.Error("no span has a traceparent")
	}
}
