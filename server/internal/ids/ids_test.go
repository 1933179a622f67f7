package ids

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

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

func (x *tries) ids() *IDs { return New(x.rdb, x.Name()) }

func (x *tries) delivery(content string, attempt int, fence int64) *rmq.Delivery {
	return &rmq.Delivery{Topic: message.Topic{Name: "orders"}, Slot: 3, Content: content, Attempt: attempt, Fence: fence}
}

// begin begins a try in a new batch.
func (x *tries) begin(attempt int) (id string, d *rmq.Delivery) {
	x.Helper()
	x.fence++
	d = x.delivery("order 4711", attempt, x.fence)
	id, err := x.ids().Begin(ctx, d, fmt.Sprint("fresh", x.fresh.Add(1)))
	must.Do(x, err)
	return id, d
}

// ends reports an end, and has it noted.
func (x *tries) ends(d *rmq.Delivery, what message.What) {
	x.Helper()
	i := x.ids()
	i.Observe(&message.Event{Topic: message.Topic{Name: x.Name() + ":orders"}, Slot: 3, Fence: d.Fence, Items: []message.Item{{What: what, Content: d.Content}}})
	must.Do(x, i.Close(ctx))
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
	if _, err := x.ids().Begin(ctx, x.delivery("order 4711", 2, first.Fence), "x"); !errors.Is(err, rmq.ErrLeaseLost) {
		t.Errorf("a try of an older batch: %v", err)
	}
	x.ends(first, message.Done)
	if x.kept() != 1 {
		t.Error("the end of an older batch has forgotten the id of a newer one")
	}
	if again, err := x.ids().Begin(ctx, second, "x"); err != nil || again != id { // as after a lost answer
		t.Errorf("%s, asked again %s: %v", id, again, err)
	}
	x.ids().Back(ctx, first)
	if next, _ := x.begin(1); next == id {
		t.Error("an older batch has noted that the target did not handle the newer one")
	}
}

// What has ended is forgotten by the next try of its slot, in the same round trip; what Redis did not hear of stays to be said.
func TestForgottenByTheNextTry(t *testing.T) {
	t.Parallel()
	x := triesOn(t)
	i := x.ids()
	var requests atomic.Int64
	x.rdb.AddHook(counted{&requests})
	for n := range 3 {
		requests.Store(0)
		_, err := i.Begin(ctx, x.delivery(fmt.Sprint(n), 1, int64(n+1)), "x")
		must.Do(t, err)
		i.Observe(&message.Event{Topic: message.Topic{Name: t.Name() + ":orders"}, Slot: 3, Fence: int64(n + 1), Items: []message.Item{{What: message.Done, Content: fmt.Sprint(n)}}})
	}
	if n := requests.Load(); n != 1 { // the server knows both scripts by now
		t.Errorf("%d requests", n)
	}
	gone, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := i.Begin(gone, x.delivery("3", 1, 4), "x"); err == nil {
		t.Error("it begins without Redis")
	}
	must.Do(t, i.Close(ctx))
	for n := range 3 {
		if kept := x.rdb.Exists(ctx, keyOf(t.Name()+":orders_3", fmt.Sprint(n))).Val(); kept != 0 {
			t.Errorf("the id of %d is kept", n)
		}
	}
	_, err := i.Begin(ctx, x.delivery("4", 1, 5), "x")
	must.Do(t, err)
	if left := x.rdb.PTTL(ctx, keyOf(t.Name()+":orders_3", "4")).Val(); left > 720*time.Hour || left < 719*time.Hour {
		t.Errorf("an id is kept for %v", left)
	}
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
