package poll

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/wait"
	"github.com/slotmq/go-rmq/message"
)

// behindProxy is a shop on a Redis that is reached through a proxy by its pollers.
func behindProxy(t *testing.T, topic message.Topic) (*shop, *servertest.Proxy) {
	t.Helper()
	srv := servertest.Redis(t)
	proxy := servertest.NewProxy(t, srv.Addr())
	s := shopOn(t, srv.Client(t), topic)
	s.via = proxy.Client(t, func(o *redis.Options) { o.ReadTimeout, o.MaxRetries = 2*time.Second, -1 })
	return s, proxy
}

// The answer of a take gets lost: the same batch is told again, and no attempt is spent.
func TestLostAnswerOfATake(t *testing.T) {
	t.Parallel()
	s, proxy := behindProxy(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	p := s.poller(Config{})
	s.sends("first")
	s.finish(p, s.take(p, Take{}), true) // which opens the desk
	s.nothing(p)
	for i := range 5 {
		s.sends(fmt.Sprint("m", i))
		lost := proxy.LoseNextReply("meta{orders_0}")
		h := s.take(p, Take{TTR: time.Hour})
		<-lost
		s.has(h, fmt.Sprint("m", i), 1)
		s.finish(p, h, true)
	}
}

// The answer of a finish gets lost: it has counted, and nobody knows.
func TestLostAnswerOfAFinish(t *testing.T) {
	t.Parallel()
	s, proxy := behindProxy(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	p := s.poller(Config{})
	s.sends("x")
	h := s.take(p, Take{})
	lost := proxy.LoseNextReply("meta{orders_0}")
	counted, err := p.Finish(ctx, h.Receipt)
	<-lost
	if counted || !errors.Is(err, ErrUncertain) {
		t.Errorf("%v, %v", counted, err)
	}
	s.finish(p, h, false)
	s.nothing(p)
	if left := s.counts(); left != [4]int64{} {
		t.Errorf("left: %v", left)
	}
}

// Redis is away while one waits and another one finishes: both are told, when their time is over, and what
// comes back is as it was.
func TestRedisIsAway(t *testing.T) {
	t.Parallel()
	s, proxy := behindProxy(t, message.Topic{Kind: message.KindPriority, Slots: 4})
	p := s.poller(Config{})
	s.sends("x", "y")
	h := s.take(p, Take{TTR: time.Hour})
	proxy.Freeze()
	short, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if _, err := p.Take(short, []string{"orders"}, Take{Wait: time.Hour}); err == nil {
		t.Error("nobody can say that there is nothing")
	}
	if counted, err := p.Finish(short, h.Receipt); counted || !errors.Is(err, ErrUncertain) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, %v", counted, err)
	}
	proxy.Thaw()
	other := s.take(p, Take{})
	if other.Attempt != 1 {
		t.Errorf("attempt %d", other.Attempt)
	}
	s.finish(p, other, true)
	if _, err := p.Finish(ctx, h.Receipt); err != nil { // it may have counted before
		t.Error(err)
	}
	s.nothing(p)
	if left := s.counts(); left != [4]int64{} {
		t.Errorf("left: %v", left)
	}
}

// Many take and finish at several processes, connections break, and takers vanish: each message is done once, nothing
// is lost, and no two have messages of a slot at a time.
func TestManyTakersUnderFaults(t *testing.T) {
	t.Parallel()
	const messages, takers = 400, 12
	s, proxy := behindProxy(t, message.Topic{Kind: message.KindPriority, Slots: 8})
	pollers := []*Poller{s.poller(Config{Worker: "a"}), s.poller(Config{Worker: "b"}), s.poller(Config{Worker: "c"})}
	s.sends(numbered("m", messages)...)
	var mu sync.Mutex
	done, holders := map[string]int{}, map[int]string{}
	all := make(chan struct{})
	var working sync.WaitGroup
	over, stop := context.WithCancel(await.Context(t))
	defer stop()
	for n := range takers {
		working.Go(func() {
			for i := 0; over.Err() == nil; i++ {
				p := pollers[(n+i)%len(pollers)]
				h, err := p.Take(over, []string{"orders"}, Take{TTR: 2 * time.Second, Wait: time.Second, Most: 1 + i%3})
				if h == nil {
					continue // an error is as good as nothing here
				}
				if i%7 == 0 {
					continue // this one vanishes
				}
				mu.Lock()
				if by := holders[h.Slot]; by != "" && time.Now().Before(h.Until) {
					t.Errorf("slot %d is with %s and %s", h.Slot, by, h.Receipt)
				}
				holders[h.Slot] = h.Receipt
				mu.Unlock()
				mu.Lock()
				delete(holders, h.Slot)
				for _, m := range h.Messages {
					done[m.Content]++
				}
				if len(done) == messages {
					select {
					case <-all:
					default:
						close(all)
					}
				}
				mu.Unlock()
				_, err = pollers[(n+i+1)%len(pollers)].Finish(over, h.Receipt)
				if err != nil && !errors.Is(err, ErrUncertain) && over.Err() == nil {
					t.Logf("finish: %v", err)
				}
			}
		})
	}
	cutting := make(chan struct{})
	go func() {
		defer close(cutting)
		for range 10 {
			if !wait.Sleep(over, 100*time.Millisecond) {
				return
			}
			proxy.Cut()
			proxy.Mend()
		}
	}()
	select {
	case <-all:
	case <-over.Done():
		t.Errorf("%d of %d are done", len(done), messages)
	}
	<-cutting
	await.True(t, "nothing is left", func() bool { return s.counts() == [4]int64{} })
	stop()
	working.Wait()
	missing := slices.DeleteFunc(numbered("m", messages), func(c string) bool { return done[c] > 0 })
	if len(missing) > 0 {
		t.Errorf("missing: %q", missing)
	}
}

// A turn gets stuck on its way, is repeated, and finds nothing. Its first copy comes late, when there is something: it takes
// nothing, for nobody waits for it.
func TestLateCopyOfATurnTakesNothing(t *testing.T) {
	t.Parallel()
	s, proxy := behindProxy(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	p := s.poller(Config{SafetyLook: time.Hour})
	s.sends("x")
	s.finish(p, s.take(p, Take{}), true)
	s.nothing(p)
	var mu sync.Mutex
	var stuck []byte
	proxy.OnRequest(func(b []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		if stuck != nil || !bytes.Contains(b, []byte("evalsha")) || !bytes.Contains(b, []byte("meta{orders_0}")) {
			return true
		}
		stuck = bytes.Clone(b)
		return false
	})
	d := p.openDesk("orders")
	d.schedule.Wake(d.scheduled, 0, 0)
	s.nothing(p)
	proxy.OnRequest(nil)
	s.sends("y")
	conn, err := net.Dial("tcp", s.rdb.(*redis.Client).Options().Addr)
	must.Do(t, err)
	defer conn.Close()
	mu.Lock()
	defer mu.Unlock()
	_, err = conn.Write(stuck)
	must.Do(t, err)
	answer := make([]byte, 1000)
	n, err := conn.Read(answer)
	must.Do(t, err)
	if left := s.counts(); left != [4]int64{1, 0, 0, 0} {
		t.Errorf("left: %v; it was told %q", left, answer[:n])
	}
	h := s.take(p, Take{})
	s.has(h, "y", 1)
	s.finish(p, h, true)
}
