package webhook

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// A wait has one id, whichever process tries; the next wait of equal content has another one.
func TestAWaitHasOneID(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	fence := int64(0)
	try := func(attempt int) (id string, end func(fate)) {
		i, d := &ids{rdb, t.Name()}, delivery("order 4711") // a process that knows nothing of those before
		fence++
		d.Attempt, d.Fence = attempt, fence
		id, err := i.begin(ctx, d)
		must.Do(t, err)
		return id, func(f fate) { i.end(ctx, d, id, f) }
	}
	same := func(why string, attempt int, want string) (end func(fate)) {
		t.Helper()
		id, end := try(attempt)
		if id != want {
			t.Errorf("%s: another id", why)
		}
		return end
	}
	seen := map[string]bool{}
	other := func(why string) (id string, end func(fate)) {
		t.Helper()
		id, end = try(1)
		if seen[id] {
			t.Errorf("%s: an id that was there", why)
		}
		seen[id] = true
		return id, end
	}
	id, end := other("first")
	end(failed)
	same("it failed", 2, id) // and its worker dies
	end = same("its worker died", 3, id)
	end(wentBack)
	end = same("it went back", 3, id)
	end(failed)
	id, _ = other("it was sent again while it waited for a retry") // and its worker dies
	end = same("its worker died at once", 2, id)
	end(ended)
	id, end = other("it was sent again when it had ended")
	end(wentBack)
	end = same("it went back at once", 1, id)
	end(ended)
	id, end = other("it had gone back, and ended")
	end(failed)
	end = same("the last attempt", 17, id)
	end(failed)
	key := (&ids{rdb, t.Name()}).key(delivery(""))
	if left, err := rdb.HGetAll(ctx, key).Result(); err != nil || len(left) > 0 {
		t.Errorf("%q is left: %v", left, err)
	}
	_, _ = try(1)
	if left, err := rdb.PTTL(ctx, key).Result(); err != nil || left > 720*time.Hour || left < 719*time.Hour {
		t.Errorf("it is kept for %v: %v", left, err)
	}
}

// What was taken together has an id for each.
func TestMessagesTakenTogetherHaveTheirIDs(t *testing.T) {
	t.Parallel()
	i := &ids{servertest.SharedRedis(t).Client(t), t.Name()}
	a, err := i.begin(ctx, delivery("a"))
	must.Do(t, err)
	b, err := i.begin(ctx, delivery("b"))
	if must.Do(t, err); a == b {
		t.Error("both have", a)
	}
}

// A target that fails sees one id for all tries of a message, and another one when the message is sent again.
func TestTargetsSeeOneIDForAllTries(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)%3 != 0 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	o := prepare(t, r.URL, oneSlot)
	o.start(t)
	var ids []string
	for n := 1; n <= 2; n++ {
		o.send(t, "order 4711")
		for range 3 {
			ids = append(ids, r.next(t).Get("Webhook-Id"))
		}
		o.await(t, message.Done, n)
	}
	if ids[0] != ids[1] || ids[1] != ids[2] || ids[3] != ids[4] || ids[4] != ids[5] || ids[0] == ids[3] {
		t.Errorf("the ids are %q", ids)
	}
}
