package poll

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// drain takes and finishes until all contents are done. Copies that come again are allowed only if again is set: what a
// failover forgets is handled twice.
func (s *shop) drain(again bool, pollers []*Poller, topics []string, contents []string) {
	s.Helper()
	var mu sync.Mutex
	done := map[string]int{}
	over, stop := context.WithCancel(await.Context(s))
	defer stop()
	var working sync.WaitGroup
	for n, p := range pollers {
		working.Go(func() {
			for over.Err() == nil {
				h, _ := p.Take(over, topics, Take{Wait: time.Second, Most: 4, TTR: 5 * time.Second}) // an error passes
				if h == nil {
					continue
				}
				counted, err := pollers[(n+1)%len(pollers)].Finish(over, h.Receipt)
				mu.Lock()
				for _, m := range h.Messages {
					if counted || err != nil {
						done[m.Content]++
					}
				}
				if len(done) == len(contents) {
					stop()
				}
				mu.Unlock()
			}
		})
	}
	working.Wait()
	for _, c := range contents {
		if n := done[c]; n == 0 || n > 1 && !again {
			s.Errorf("%s was done %d times", c, n)
		}
	}
}

// hasty clients notice soon that a server is gone.
func hasty(o *redis.ClusterOptions) { o.ReadTimeout, o.MaxRetries = 2*time.Second, -1 }

// The slots of two topics are on all masters. One hash slot moves meanwhile, and then a master is replaced: all is done,
// and nothing twice, since a planned failover forgets nothing.
func TestTakesOnACluster(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 1, "--cluster-node-timeout", "60000") // no master is replaced because the machine stalls it
	a := shopOn(t, c.Client(t), message.Topic{Name: "a", Kind: message.KindPriority, Slots: 16})
	b := shopOn(t, a.rdb, message.Topic{Name: "b", Kind: message.KindFixedTime, Slots: 16})
	a.via = c.Client(t, hasty)
	pollers := []*Poller{a.poller(Config{Worker: "x"}), a.poller(Config{Worker: "y"})}
	round := func(name string) []string {
		all := numbered(name, 120)
		a.sends(all[:60]...)
		b.sends(all[60:]...)
		return all
	}
	a.drain(false, pollers, []string{"a", "b"}, round("still "))
	during := func(what string, change func()) {
		contents := round(what)
		changed := make(chan struct{})
		go func() {
			defer close(changed)
			change()
		}()
		a.drain(true, pollers, []string{"a", "b"}, contents)
		<-changed
		a.drain(false, pollers, []string{"a", "b"}, round("after "+what))
	}
	during("moved ", func() {
		m := c.Migrate(t, a.keys(3).Store)
		m.MoveKeys(t, 1)
		m.Finish(t)
	})
	during("failover ", func() { c.Failover(t, a.keys(5).Store) })
	if x, y := a.counts(), b.counts(); x != [4]int64{} || y != [4]int64{} {
		t.Errorf("left: %v, %v", x, y)
	}
}

// A master of a Cluster hangs. What is on the other one is taken, also from a topic behind one that has messages on
// the hung one; and who does not wait is told that nobody knows.
func TestHungMasterHoldsUpItsOwnSlotsOnly(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 2, 0)
	a := shopOn(t, c.Client(t), message.Topic{Name: "a", Kind: message.KindPriority, Slots: 8})
	b := shopOn(t, a.rdb, message.Topic{Name: "b", Kind: message.KindPriority, Slots: 8})
	a.via = c.Client(t, hasty)
	p := a.poller(Config{})
	a.sends("opens a")
	b.sends("opens b")
	for _, s := range []*shop{a, b} {
		h, err := p.Take(ctx, []string{s.topic.Name}, Take{Wait: await.Patience})
		must.Do(t, err)
		a.finish(p, h, true)
		s.nothing(p)
	}
	hung := c.MasterOf(t, a.keys(0).Store)
	var there, elsewhere []int // slots of b
	for slot := range b.topic.Slots {
		if c.MasterOf(t, b.keys(slot).Store) == hung {
			there = append(there, slot)
		} else {
			elsewhere = append(elsewhere, slot)
		}
	}
	if len(there) == 0 || len(elsewhere) == 0 {
		t.Fatal("all slots of b are on one master")
	}
	add := func(s *shop, slot int, content string) {
		must.Do(t, s.rdb.ZAdd(ctx, s.keys(slot).Store, redis.Z{Score: 100, Member: content}).Err())
	}
	add(a, 0, "unreachable")
	hangs, works := p.topics.opened("a"), p.topics.opened("b")
	hung.Pause()
	hangs.scheduled.Wake(0, 0)
	for range 3 {
		if h, err := p.Take(await.Context(t), []string{"a"}, Take{}); h != nil || err == nil {
			t.Errorf("%v, %v", h, err)
		}
	}
	for i := range 10 {
		add(b, elsewhere[i%len(elsewhere)], "reachable")
		works.scheduled.Wake(elsewhere[i%len(elsewhere)], 0)
		h, err := p.Take(await.Context(t), []string{"a", "b"}, Take{Wait: await.Patience})
		must.Do(t, err)
		a.has(h, "reachable", 1)
		a.finish(p, h, true)
	}
	hung.Resume()
	h := a.take(p, Take{})
	a.has(h, "unreachable", 1)
	a.finish(p, h, true)
	await.True(t, "it is known again that there is nothing", func() bool {
		h, err := p.Take(ctx, []string{"a", "b"}, Take{})
		return h == nil && err == nil
	})
}

// Slots of a master that hangs and of another one are woken together, and many wait: what the other one has is taken, for no
// write has turns of both, also where slots have moved since the first turns.
func TestTurnsOfAHungMasterGoAlone(t *testing.T) {
	t.Parallel()
	for _, moved := range []bool{false, true} {
		c := servertest.Cluster(t, 2, 0, "--cluster-node-timeout", "60000")
		s := shopOn(t, c.Client(t), message.Topic{Kind: message.KindPriority, Slots: 64})
		s.via = c.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout = time.Hour }) // hangs with the server
		p := s.poller(Config{SafetyLook: time.Hour})
		s.sends("opens it")
		s.finish(p, s.take(p, Take{}), true)
		s.nothing(p)
		got := make(chan *Held, s.topic.Slots)
		taking, end := context.WithCancel(await.Context(t))
		defer end()
		for range s.topic.Slots {
			go func() {
				h, _ := p.Take(taking, []string{"orders"}, Take{Wait: await.Patience, TTR: time.Hour})
				got <- h
			}()
		}
		topic := p.topics.opened("orders")
		await.True(t, "all wait", func() bool {
			return topic.queue.length() == s.topic.Slots
		})
		wake := func() {
			for slot := range s.topic.Slots {
				topic.scheduled.Wake(slot, 0)
			}
		}
		if moved {
			for slot := range s.topic.Slots {
				topic.scheduled.Locate(slot, "where all have been")
			}
			wake()
			topic.schedule.WaitIdle()
		}
		hung, elsewhere := c.MasterOf(t, s.keys(0).Store), 0
		for slot := range s.topic.Slots {
			content := "there"
			if c.MasterOf(t, s.keys(slot).Store) != hung {
				content = "elsewhere"
				elsewhere++
			}
			must.Do(t, s.rdb.ZAdd(ctx, s.keys(slot).Store, redis.Z{Score: 100, Member: content}).Err())
		}
		hung.Pause()
		defer hung.Resume()
		wake()
		for elsewhere > 0 {
			h := <-got
			if h == nil {
				t.Fatalf("moved %v: %d are left elsewhere, and nobody gets them", moved, elsewhere)
			}
			if h.Messages[0].Content == "elsewhere" { // a look of the topic may have found the others before the pause
				elsewhere--
			}
		}
	}
}

// The master of a Sentinel group dies while many take. What its replica had not got yet may be forgotten, or done
// twice; afterwards all goes on as before.
func TestSentinelFailover(t *testing.T) {
	t.Parallel()
	g := servertest.Sentinel(t)
	s := shopOn(t, g.Client(t), message.Topic{Kind: message.KindPriority, Slots: 8})
	pollers := []*Poller{s.poller(Config{Worker: "x"}), s.poller(Config{Worker: "y"})}
	before := numbered("before ", 100)
	s.sends(before...)
	must.Do(t, s.rdb.Do(ctx, "wait", 1, await.Patience.Milliseconds()).Err()) // none of them is lost with the master
	h := s.take(pollers[0], Take{TTR: time.Hour})
	must.Do(t, s.rdb.Do(ctx, "wait", 1, await.Patience.Milliseconds()).Err()) // none of them is lost with the master
	master := g.Master(t)
	master.Kill()
	if g.Master(t) == master {
		t.Fatal("the killed master still serves")
	}
	s.finish(pollers[1], h, true) // the receipt is good at the new one
	rest := slices.DeleteFunc(before, func(c string) bool { return c == h.Messages[0].Content })
	s.drain(true, pollers, []string{"orders"}, rest)
	after := numbered("after ", 100)
	s.sends(after...)
	s.drain(false, pollers, []string{"orders"}, after)
	if left := s.counts(); left != [4]int64{} {
		t.Errorf("left: %v", left)
	}
}
