package ids

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

var ctx = context.Background()

func TestMain(m *testing.M) { servertest.Main(m) }

// tries are those of contents of one slot, each in a batch of its own, by a process that knows nothing of those before.
type tries struct {
	testing.TB
	rdb   redis.UniversalClient
	fence int64
	fresh atomic.Int64
}

func triesOn(t *testing.T) *tries {
	t.Helper()
	return &tries{TB: t, rdb: servertest.SharedRedis(t).Client(t), fence: 1 << 50}
}

func (x *tries) ids() *IDs {
	i := New(x.rdb, x.Name(), func(string, int, int64, string) string { return fmt.Sprint("fresh", x.fresh.Add(1)) })
	i.within = await.Patience
	return i
}

func (x *tries) delivery(content string, attempt int, fence int64) *rmq.Delivery {
	return &rmq.Delivery{Topic: message.Topic{Name: "orders"}, Slot: 3, Content: content, Attempt: attempt, Fence: fence}
}

// begin begins a try in a new batch.
func (x *tries) begin(attempt int) (id string, d *rmq.Delivery) {
	x.Helper()
	x.fence++
	d = x.delivery("order 4711", attempt, x.fence)
	id, err := x.ids().Begin(ctx, d)
	must.Do(x, err)
	return id, d
}

// ends reports an end, and has it noted.
func (x *tries) ends(d *rmq.Delivery, what message.What) {
	x.Helper()
	i := x.ids()
	i.Observe(&message.Event{Topic: message.Topic{Name: x.Name() + ":orders"}, Slot: 3, Fence: d.Fence, Items: []message.Item{{What: what, Content: d.Content}}})
	i.busy.Wait()
}

func (x *tries) kept() int {
	n, err := x.rdb.Exists(ctx, keyOf(x.Name()+":orders_3", "order 4711")).Result()
	must.Do(x, err)
	return int(n)
}

// A wait has one id, whichever process tries; the next wait of equal content has another one.
func TestAWaitHasOneID(t *testing.T) {
	t.Parallel()
	x := triesOn(t)
	same := func(why string, attempt int, want string) *rmq.Delivery {
		t.Helper()
		id, d := x.begin(attempt)
		if id != want {
			t.Errorf("%s: %s, want %s", why, id, want)
		}
		return d
	}
	seen := map[string]bool{}
	other := func(why string, attempt int) (string, *rmq.Delivery) {
		t.Helper()
		id, d := x.begin(attempt)
		if seen[id] {
			t.Errorf("%s: %s was there", why, id)
		}
		seen[id] = true
		return id, d
	}
	id, _ := other("the first", 1)
	same("it failed", 2, id)
	same("its worker died", 3, id)
	x.ids().Back(ctx, same("it was handed back", 3, id))
	other("it was sent again while it waited for a retry", 1)
	id, d := other("Close cut it off, and it may have been sent again before", 1)
	x.ids().Back(ctx, d)
	d = same("its target was away", 1, id)
	x.ids().Back(ctx, d)
	d = same("its target was away for long", 1, id)
	x.ids().Back(ctx, d)
	same("its target was away, and then its worker died", 2, id)
	for _, what := range []message.What{message.Done, message.Died, message.Dropped} {
		_, d := other("before it has ended", 1)
		x.ends(d, what)
		if x.kept() != 0 {
			t.Errorf("it is %v, and its id is kept", what)
		}
		_, d = other(fmt.Sprintf("it was sent again when it was %v, and its first worker died at once", what), 2)
		x.ends(d, message.Done)
	}
	for _, what := range []message.What{message.Taken, message.Failed, message.Snoozed, message.HandedBack, message.Overtaken} {
		id, d := other("before it has not ended", 1)
		x.ends(d, what)
		same(fmt.Sprintf("it is %v", what), 2, id)
	}
}

// What comes late changes nothing: of a process that was frozen while another one took over.
func TestLate(t *testing.T) {
	t.Parallel()
	x := triesOn(t)
	_, first := x.begin(1)
	id, second := x.begin(1) // sent again, and taken by another worker
	if _, err := x.ids().Begin(ctx, x.delivery("order 4711", 2, first.Fence)); !errors.Is(err, rmq.ErrLeaseLost) {
		t.Errorf("a try of an older batch: %v", err)
	}
	x.ends(first, message.Done)
	if x.kept() != 1 {
		t.Error("the end of an older batch has forgotten the id of a newer one")
	}
	if again, err := x.ids().Begin(ctx, second); err != nil || again != id { // as after a lost answer
		t.Errorf("%s, asked again %s: %v", id, again, err)
	}
	x.ids().Back(ctx, first)
	if next, _ := x.begin(1); next == id {
		t.Error("an older batch has noted that the target did not handle the newer one")
	}
}

// taken reports that messages of a batch were taken.
func (x *tries) taken(i *IDs, fence int64, attempt int, contents ...string) {
	e := &message.Event{Topic: message.Topic{Name: x.Name() + ":orders"}, Slot: 3, Fence: fence}
	for _, c := range contents {
		e.Items = append(e.Items, message.Item{What: message.Taken, Content: c, Attempt: attempt})
	}
	i.Observe(e)
}

// All ids of a batch begin when it is taken, in one request. So what a take-over gives to another worker before it was begun
// has no id of before.
func TestBatchesBeginAtOnce(t *testing.T) {
	t.Parallel()
	x := triesOn(t)
	old, _ := x.begin(1) // its target handles it, and the answer breaks off; then it is sent again, which replaces the retry
	i := x.ids()
	var requests atomic.Int64
	x.rdb.AddHook(counted{&requests})
	x.fence++
	first := x.fence
	x.taken(i, first, 1, "a", "b", "order 4711")
	i.busy.Wait()
	requests.Store(0)
	ids := map[string]bool{}
	for _, content := range []string{"a", "b"} {
		id, err := i.Begin(ctx, x.delivery(content, 1, first))
		must.Do(t, err)
		ids[id] = true
	}
	if n := requests.Load(); n != 0 || len(ids) != 2 {
		t.Errorf("%d requests for %v", n, ids)
	}
	next, _ := x.begin(2) // and its worker is dead, before it has begun with it
	if next == old {
		t.Error("a new message has the id of one that was handled")
	}
	i.Observe(&message.Event{Topic: message.Topic{Name: t.Name() + ":orders"}, Slot: 3, Fence: first, Items: []message.Item{{What: message.Done, Content: "a"}, {What: message.Failed, Content: "b"}, {What: message.Overtaken, Content: "order 4711"}}})
	i.busy.Wait()
	if len(i.batches) != 0 {
		t.Errorf("%d batches are under way", len(i.batches))
	}
	for content, want := range map[string]int64{"a": 0, "b": 1, "order 4711": 1} {
		if kept := x.rdb.Exists(ctx, keyOf(t.Name()+":orders_3", content)).Val(); kept != want {
			t.Errorf("of %s %d ids are kept", content, kept)
		}
	}
	if left := x.rdb.PTTL(ctx, keyOf(t.Name()+":orders_3", "b")).Val(); left > 720*time.Hour || left < 719*time.Hour {
		t.Errorf("an id is kept for %v", left)
	}
}

// A batch of any size begins and ends; what Redis did not hear of at once is asked for by each try.
func TestLargeBatches(t *testing.T) {
	t.Parallel()
	x := triesOn(t)
	i := x.ids()
	contents := make([]string, 1000)
	done := &message.Event{Topic: message.Topic{Name: t.Name() + ":orders"}, Slot: 3, Fence: 1}
	for n := range contents {
		contents[n] = fmt.Sprint(n)
		done.Items = append(done.Items, message.Item{What: message.Done, Content: contents[n]})
	}
	key := keyOf(t.Name()+":orders_3", "999")
	x.taken(i, 1, 1, contents...)
	i.busy.Wait()
	if x.rdb.Exists(ctx, key).Val() != 1 {
		t.Error("the last one has no id")
	}
	i.Observe(done)
	i.busy.Wait()
	if x.rdb.Exists(ctx, key).Val() != 0 {
		t.Error("the id of the last one is kept")
	}

	server := servertest.Redis(t)
	i.rdb = server.Client(t, func(o *redis.Options) { o.MaxRetries, o.ReadTimeout = -1, 50*time.Millisecond })
	server.Pause()
	x.taken(i, 2, 1, "a")
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := i.Begin(gone, x.delivery("a", 1, 2)); err == nil {
		t.Error("it begins without Redis")
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	i.Close(over) // does not wait for a Redis that hangs
	x.taken(i, 3, 1, "a")
	if b := i.batches[t.Name()+":orders_3"]; b.fence == 3 {
		t.Error("a batch begins after Close")
	}
	i.busy.Wait()
	server.Resume()
	i.rdb = server.Client(t) // as patient as others
	_, err := i.Begin(ctx, x.delivery("a", 1, 2))
	must.Do(t, err)
}

// counted is a hook that counts requests.
type counted struct{ n *atomic.Int64 }

func (c counted) DialHook(next redis.DialHook) redis.DialHook { return next }
func (c counted) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmd)
	}
}
func (c counted) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		c.n.Add(1)
		return next(ctx, cmds)
	}
}
