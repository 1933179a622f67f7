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

	"github.com/slotmq/go-rmq/internal/servers/wait"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
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
	s.finish(p, s.take(p, Take{}), true) // which opens the topic
	s.nothing(p)
	for i := range 5 {
		s.sends(fmt.Sprint("m", i))
		lost := proxy.LoseNextReply("meta{orders_0}")
		var once sync.Once
		var asked time.Time
		proxy.OnRequest(func(b []byte) bool {
			if bytes.Contains(b, []byte("meta{orders_0}")) {
				once.Do(func() { asked = time.Now() })
			}
			return true
		})
		h := s.take(p, Take{TTR: time.Hour})
		<-lost
		s.has(h, fmt.Sprint("m", i), 1)
		once.Do(func() { t.Error("it was not asked for") })
		if !h.Until.After(asked.Add(time.Hour)) {
			t.Errorf("until %v, asked at %v: the time does not begin anew when it is told again, as it does in Redis", h.Until, asked)
		}
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
	topic := p.topics.opened("orders")
	topic.scheduled.Wake(0, 0)
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

// A turn that was repeated has found nothing, so the slot is left. Before that comes to Redis, another one takes there; or the
// first copy of the turn does. The slot wakes as before when something comes.
func TestSlotThatIsLeftWakes(t *testing.T) {
	t.Parallel()
	for _, byItself := range []bool{false, true} {
		s, proxy := behindProxy(t, message.Topic{Kind: message.KindPriority, Slots: 1})
		p := s.poller(Config{SafetyLook: time.Hour})
		s.sends("first")
		s.finish(p, s.take(p, Take{}), true)
		s.nothing(p)
		through := s.via
		s.via = nil
		other := s.poller(Config{Worker: "other"})
		s.via = through
		s.nothing(other)
		var mu sync.Mutex
		var stuck []byte
		turns := 0
		theirs := make(chan *Held, 1)
		proxy.OnRequest(func(b []byte) bool {
			if !bytes.Contains(b, []byte("evalsha")) || !bytes.Contains(b, []byte("meta{orders_0}")) {
				return true
			}
			mu.Lock()
			turns++
			n := turns
			if n == 1 {
				stuck = bytes.Clone(b)
			}
			mu.Unlock()
			if n != 3 {
				return n != 1
			}
			s.sends("taken before it is left")
			if byItself {
				conn, err := net.Dial("tcp", s.rdb.(*redis.Client).Options().Addr)
				if err == nil {
					defer conn.Close()
					if _, err = conn.Write(stuck); err == nil {
						_, err = conn.Read(make([]byte, 1000))
					}
				}
				if err != nil {
					t.Error(err)
				}
				return true
			}
			theirs <- s.take(other, Take{TTR: time.Hour})
			return true
		})
		ours := make(chan *Held, 1)
		go func() {
			h, err := p.Take(await.Context(t), []string{"orders"}, Take{Wait: await.Patience, TTR: time.Hour})
			if err != nil {
				t.Error(err)
			}
			ours <- h
		}()
		topic := p.topics.opened("orders")
		await.True(t, "it waits", func() bool {
			return topic.queue.length() > 0
		})
		topic.scheduled.Wake(0, 0)
		if !byItself {
			h := <-theirs
			s.sends("next")
			s.finish(other, h, true)
		}
		h := <-ours
		if h == nil {
			t.Fatalf("by itself %v: the slot did not wake", byItself)
		}
		s.finish(p, h, true)
		s.sends("last")
		s.finish(p, s.take(p, Take{}), true)
	}
}

// While the notes of a batch are read its slot is out of hand, and somebody else comes who does not wait either: the first
// one is not sent away, for its batch is on the way.
func TestBatchOnItsWayIsSomething(t *testing.T) {
	t.Parallel()
	s, proxy := behindProxy(t, message.Topic{Kind: message.KindPriority, Slots: 1, Notes: true})
	p := s.poller(Config{SafetyLook: time.Hour})
	s.sends("opens it")
	s.finish(p, s.take(p, Take{}), true)
	s.nothing(p)
	s.quiet() // else a turn that is still under way takes x for one who has gone
	reading, on := make(chan struct{}), make(chan struct{})
	goOn := sync.OnceFunc(func() { close(on) })
	defer goOn()
	var once sync.Once
	proxy.OnRequest(func(b []byte) bool {
		if bytes.Contains(bytes.ToLower(b), []byte("hmget")) {
			once.Do(func() {
				close(reading)
				<-on
			})
		}
		return true
	})
	s.sends("x")
	takes := func() <-chan *Held {
		got := make(chan *Held, 1)
		go func() {
			h, err := p.Take(await.Context(t), []string{"orders"}, Take{})
			if err != nil {
				t.Error(err)
			}
			got <- h
		}()
		return got
	}
	topic := p.topics.opened("orders")
	topic.scheduled.Wake(0, 0)
	first := takes()
	await.Signal(t, "its notes are read", reading)
	second := takes()
	await.True(t, "the second one is there", func() bool {
		return topic.queue.length() > 0
	})
	goOn()
	if h := <-first; h == nil {
		t.Error("it was sent away")
	} else {
		s.finish(p, h, true)
	}
	if h := <-second; h != nil {
		t.Errorf("a second one got %v", h.Messages)
	}
}
