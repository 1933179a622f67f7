package producer

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// late is longer than any answer takes by itself, also on a busy machine.
const late = 3 * time.Second

// slowTime lets the next question for the time reach the server late only, and
// returns a channel that is closed then.
func slowTime(t *testing.T, proxy *servertest.Proxy) <-chan struct{} {
	var asked atomic.Bool
	through := make(chan struct{})
	proxy.OnRequest(func(b []byte) bool {
		if bytes.Contains(bytes.ToLower(b), []byte("*1\r\n$4\r\ntime\r\n")) && asked.CompareAndSwap(false, true) {
			await.Silence(t, "nothing ends it", make(chan struct{}), late)
			close(through)
		}
		return true
	})
	return through
}

// A question for the time that arrives late makes the server look half of that ahead. Of
// several the quickest counts, so no time is taken for past that is not, and range
// merges are due when they ought to be.
func TestOneSlowAnswerOfTheClock(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy, direct := servertest.NewProxy(t, server.Addr()), server.Client(t)
	p := newProducer(t, proxy.Client(t), Config{RefusePast: true})
	fixed, merge := topicOf(t, message.KindFixedTime), topicOf(t, message.KindRangeMerge)
	merge.Name += "-merge"

	through := slowTime(t, proxy)
	check := func(what string) {
		t.Helper()
		for n := range 20 {
			content := fmt.Sprint(what, n)
			bound := boundOf(p) // which may become better while the message is sent
			now := direct.Time(ctx).Val()
			at := now.Add(250 * time.Millisecond)
			if _, err := p.Send(ctx, fixed, message.FixedTime{Content: content, At: at}); err != nil && direct.Time(ctx).Val().Before(at) {
				t.Errorf("%s: %v", what, err)
			}
			r := mustSend(t, p, merge, message.RangeMerge{Content: content, Range: time.Minute})
			after := direct.Time(ctx).Val()
			bound = max(bound, boundOf(p))
			if r.Due.Before(now.Add(time.Minute)) || r.Due.After(after.Add(time.Minute+2*bound+time.Millisecond)) {
				t.Errorf("%s: due %v after the time of the send, and %v after that of the answer", what, r.Due.Sub(now), r.Due.Sub(after))
			}
			if bound >= late/2 {
				t.Errorf("%s: the slow answer counts", what)
			}
		}
	}
	mustSend(t, p, merge, message.RangeMerge{Content: "first", Range: time.Hour})
	<-through // the first answer was the slow one
	check("at first")

	// The same holds for a later one, for which no send waits.
	c := clockOf(p)
	r := *c.last.Load()
	r.expires = time.Time{}
	c.last.Store(&r)
	through = slowTime(t, proxy)
	check("later")
	<-through
	<-c.ask(merge.Name) // closed when that answer is known
	check("after it")
}

// Which reading counts.
func TestReadings(t *testing.T) {
	t.Parallel()
	const ms = time.Millisecond
	begin := time.Now()
	at := func(after, ahead, bound time.Duration) reading {
		return reading{local: begin.Add(after), server: begin.Add(after + ahead), bound: bound, pause: clockEvery}
	}
	replaced := at(0, 0, ms)
	replaced.replaced = true
	failed := reading{err: context.Canceled}
	for _, c := range []struct {
		name  string
		last  *reading
		r     reading
		taken bool
	}{
		{"the first", nil, at(0, 0, time.Second), true},
		{"after a failure", &failed, at(0, 0, time.Second), true},
		{"more exact", ptr(at(0, 0, 5*ms)), at(0, 2*ms, 2*ms), true},
		{"less exact", ptr(at(0, 0, 5*ms)), at(0, 2*ms, 20*ms), false},
		{"less exact, and the last has grown old", ptr(at(0, 0, 5*ms)), at(10*time.Minute, 2*ms, 20*ms), true},
		{"less exact, and the clock was set", ptr(at(0, 0, 5*ms)), at(0, 300*ms, 20*ms), true},
		{"less exact, and the clock was set back", ptr(at(0, 0, 5*ms)), at(0, -300*ms, 20*ms), true},
		{"less exact, and another server may have answered", &replaced, at(0, 0, 20*ms), true},
	} {
		got := better(c.last, c.r)
		if taken := got.local == c.r.local && got.bound == c.r.bound; taken != c.taken {
			t.Errorf("%s: taken: %t", c.name, taken)
		}
	}
	if m := ptr(at(0, 0, ms)).moment(begin.Add(10 * time.Second)); m.bound != 2*ms || m.latest().Sub(m.earliest()) != 4*ms {
		t.Errorf("a reading of 1 ms is %v wrong after 10 s", m.bound)
	}

	// Poor readings are taken again soon, then less often.
	r := at(0, 0, 50*ms)
	var pauses []time.Duration
	for range 6 {
		next := at(0, 0, 50*ms)
		r = better(&r, next)
		pauses = append(pauses, r.pause)
		r.replaced = true // so that the next one is taken
	}
	if r = better(nil, at(0, 0, 50*ms)); r.pause != soonest {
		t.Errorf("the first poor one is followed after %v", r.pause)
	}
	if pauses[5] != clockEvery {
		t.Errorf("pauses: %v", pauses)
	}
	if r = better(nil, at(0, 0, ms/4)); r.pause != clockEvery {
		t.Errorf("a good one is followed after %v", r.pause)
	}
}

// A reading that is as wrong as its bound allows makes no range merge early, and
// takes nothing for past that is not.
func TestNeverEarlyWithinTheBound(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	p := newProducer(t, rdb, Config{RefusePast: true})
	merge, fixed := topicOf(t, message.KindRangeMerge), topicOf(t, message.KindFixedTime)
	fixed.Name += "-fixed"
	mustSend(t, p, merge, message.RangeMerge{Content: "first", Range: time.Minute})
	const bound = 10 * time.Second
	pretend := func(wrong time.Duration) time.Time {
		local, now := time.Now(), rdb.Time(ctx).Val() // the later one is the server's
		clockOf(p).last.Store(&reading{local: local, server: now.Add(wrong), bound: bound, expires: local.Add(time.Hour)})
		return now
	}
	now := pretend(-bound)
	if r := mustSend(t, p, merge, message.RangeMerge{Content: "x", Range: time.Minute}); r.Due.Before(now.Add(time.Minute)) {
		t.Errorf("due %v too early", now.Add(time.Minute).Sub(r.Due))
	}
	now = pretend(bound)
	mustSend(t, p, fixed, message.FixedTime{Content: "x", At: now.Add(5 * time.Second)})
}

// boundOf is how wrong the clock of the one server may be.
func boundOf(p *Producer) time.Duration { return clockOf(p).last.Load().moment(time.Now()).bound }

// clockOf is the clock of the one server.
func clockOf(p *Producer) *clock {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, to := range p.writers.all {
		return to.clock
	}
	return nil
}

func ptr(r reading) *reading { return &r }

// The clock steps, or a server with another one takes over: the next look says so.
func TestClockThatWasSet(t *testing.T) {
	t.Parallel()
	memory, rdb := servertest.Memory(t)
	now := time.Now().Truncate(time.Millisecond)
	memory.SetTime(now)
	p, topic := newProducer(t, rdb, Config{ExactReceipts: true}), topicOf(t, message.KindRangeMerge)
	for n, ahead := range []time.Duration{0, time.Hour, -time.Hour} {
		memory.SetTime(now.Add(ahead))
		if n > 0 {
			c := clockOf(p)
			if n == 1 {
				c.expire() // as after a lost connection
			} else {
				r := *c.last.Load()
				r.expires = time.Time{}
				c.last.Store(&r)
				<-c.ask(topic.Name)
			}
		}
		r := mustSend(t, p, topic, message.RangeMerge{Content: fmt.Sprint(n), Range: time.Minute})
		if late := r.Due.Sub(now.Add(ahead + time.Minute)); late < 0 || late > 30*time.Second {
			t.Errorf("the clock is %v ahead: due %v late", ahead, late)
		}
	}
}
