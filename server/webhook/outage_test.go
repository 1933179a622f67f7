package webhook

import (
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// A target that answers 500 to all is only asked now and then. The backlog waits, spends next to nothing, nothing
// dies, and all of it is handled when the target is well.
func TestTargetFailsEverything(t *testing.T) {
	t.Parallel()
	var well atomic.Bool
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		if !well.Load() {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	o := prepare(t, r.URL)
	all := numbered(1000)
	o.send(t, all...)
	o.start(t)
	o.await(t, message.Probing, 1)
	begun := len(o.of(message.Failed))
	// The next probe comes seconds later, and may not have been seen yet.
	lasted, probes := time.Duration(0), 0
	for ; lasted < time.Second && probes < 10; probes++ { // early ones may have come late, and close to each other
		o.await(t, message.Failed, begun+probes+2)
		lasted = o.at(message.Failed, begun+probes+1).Sub(o.at(message.Failed, begun+probes))
	}
	t.Logf("%d failures when it is noticed, %d after it, the last %v apart", begun, probes+1, lasted)
	if begun > 72+defaultConcurrency {
		t.Errorf("%d deliveries are spent before it is noticed", begun)
	}
	if lasted < time.Second {
		t.Errorf("a probe came %v after another one", lasted)
	}
	if n := len(o.of(message.Done)) + len(o.of(message.Died)); n > 0 {
		t.Errorf("%d messages have ended", n)
	}
	well.Store(true)
	o.await(t, message.Done, len(all))
	if n := len(o.of(message.Died)); n > 0 {
		t.Errorf("%d messages have died", n)
	}
	for _, x := range o.of(message.Done) {
		if x.Attempt > 17 {
			t.Errorf("%s has %d attempts", x.Content, x.Attempt)
		}
	}
}

// A target that cannot be reached spends nothing at all, however often it is tried.
func TestTargetIsAway(t *testing.T) {
	t.Parallel()
	addr := servertest.Nobody(t)
	o := open(t, "http://"+addr)
	all := numbered(50)
	o.send(t, all...)
	tries := o.await(t, message.HandedBack, len(all)+1) // one at least is tried again
	tried := 0
	for _, h := range tries {
		if h.Attempt != 1 {
			t.Errorf("%s is at attempt %d", h.Content, h.Attempt)
		}
		if h.Err != nil {
			tried++
		}
	}
	if tried == 0 {
		t.Error("no message was pushed back")
	}
	r := newReceiver(nil)
	r.Listener.Close()
	var err error
	r.Listener, err = net.Listen("tcp", addr)
	must.Do(t, err)
	r.Start()
	defer r.Close()
	for _, d := range o.await(t, message.Done, len(all)) {
		if d.Attempt != 1 {
			t.Errorf("%s took %d attempts", d.Content, d.Attempt)
		}
	}
	if n := len(o.of(message.Failed)) + len(o.of(message.Died)); n > 0 {
		t.Errorf("%d deliveries were spent", n)
	}
	if o.logs.FilterMessageSnippet("can be reached again").Len() != 1 {
		t.Error("the log does not say that it is back")
	}
}

// A target that asks all for patience is asked seldom, and nothing is spent; whichever messages come first.
func TestTargetAsksForPatience(t *testing.T) {
	t.Parallel()
	var well atomic.Bool
	r := receive(t, func(w http.ResponseWriter, _ *http.Request) {
		if !well.Load() {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	o := prepare(t, r.URL, func(c *Config) { c.Targets[0].Concurrency = 2 })
	all := numbered(40)
	o.send(t, all...)
	begun := time.Now()
	o.start(t)
	put := o.await(t, message.Snoozed, 10)
	if lasted := time.Since(begun); lasted < 2*time.Second {
		t.Errorf("it was asked for 10 messages in %v", lasted)
	}
	different := map[string]bool{}
	for _, x := range put {
		different[x.Content] = true
	}
	if len(different) < 5 {
		t.Errorf("it was asked for %d different messages only", len(different))
	}
	well.Store(true)
	for _, d := range o.await(t, message.Done, len(all)) {
		if d.Attempt != 1 {
			t.Errorf("%s took %d attempts", d.Content, d.Attempt)
		}
	}
}

// One message that fails for ever beside others that are done is dead in the end: it is its own fault.
func TestPoison(t *testing.T) {
	t.Parallel()
	r := receive(t, func(w http.ResponseWriter, q *http.Request) {
		if q.ContentLength == 6 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	o := open(t, r.URL, func(c *Config) { c.Targets[0].Backoff = rmq.Schedule(time.Millisecond) })
	o.send(t, append(numbered(100), "poison")...)
	dead := o.await(t, message.Died, 1)
	if dead[0].Content != "poison" || dead[0].Attempt != 17 {
		t.Errorf("%s died at attempt %d", dead[0].Content, dead[0].Attempt)
	}
	o.await(t, message.Done, 100)
}
