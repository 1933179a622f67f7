package poll

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

var callsOf = regexp.MustCompile(`cmdstat_([a-z|]+):calls=(\d+)`)

// asked counts the commands that Redis has got, but for those that ask for that.
func (s *shop) asked() (commands, turns int) {
	s.Helper()
	info, err := s.rdb.Info(ctx, "commandstats").Result()
	must.Do(s, err)
	for _, m := range callsOf.FindAllStringSubmatch(info, -1) {
		n, _ := strconv.Atoi(m[2])
		switch m[1] {
		case "evalsha":
			turns += n
			commands += n
		case "info", "hello", "client|setinfo", "ping": // the last after 10 s of silence
		default:
			commands += n
		}
	}
	return commands, turns
}

// quiet returns when Redis is asked nothing any more: what a topic does when it opens goes on for a moment.
func (s *shop) quiet() (commands, turns int) {
	s.Helper()
	same := 0
	await.True(s, "Redis is asked nothing", func() bool {
		c, n := s.asked()
		if same++; c != commands {
			same = 0
		}
		commands, turns = c, n
		return same == 50
	})
	return commands, turns
}

// seated returns when so many wait.
func (s *shop) seated(p *Poller, n int) {
	s.Helper()
	await.True(s, fmt.Sprint(n, " wait"), func() bool {
		topic := p.topics.opened(s.topic.Name)
		return topic.queue.length() == n
	})
}

// Who waits costs Redis nothing, however many they are; and one message is taken for one of them. When they all leave,
// that costs nothing either.
func TestWaitingCostsNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 64})
	s.sends("x")
	p := s.poller(Config{SafetyLook: time.Hour})
	s.finish(p, s.take(p, Take{}), true)
	s.quiet()
	s.nothing(p) // it looks at the slot that was finished, which was announced
	begun := time.Now()
	before, turnsBefore := s.quiet()
	going, leave := context.WithCancel(ctx)
	defer leave()
	var waiting sync.WaitGroup
	for range 100 {
		waiting.Go(func() { _, _ = p.Take(going, []string{"orders"}, Take{Wait: time.Hour}) })
	}
	s.seated(p, 100)
	if n, turns := s.asked(); n != before && time.Since(begun) < 5*time.Second { // later a topic refreshes, and asks for a sign of life
		t.Errorf("%d commands for takers who find nothing, %d of them turns", n-before, turns-turnsBefore)
	}
	s.sends("y")
	await.True(t, "one of them has it", func() bool { return s.counts() == [4]int64{0, 1, 0, 0} })
	if _, turns := s.asked(); turns-turnsBefore > 2 {
		t.Errorf("%d turns for one message", turns-turnsBefore)
	}
	s.seated(p, 99)
	begun = time.Now()
	before, _ = s.quiet()
	leave()
	waiting.Wait()
	if n, _ := s.asked(); n != before && time.Since(begun) < 5*time.Second {
		t.Errorf("%d commands for takers who leave", n-before)
	}
}

// While a batch is on its way to the one who waits, no other turn is prepared for that one: the schedule would hand out
// slots without end.
func TestNoTurnIsPreparedForTheServed(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 4})
	s.sends(numbered("m", 20)...)
	var p *Poller
	allowed := make(chan int, 100)
	p = s.poller(Config{Observers: []message.Observer{message.ObserverFunc(func(e *message.Event) {
		if topic := p.topics.opened("orders"); topic != nil && e.Items[0].What == message.Taken {
			allowed <- topic.scheduled.Allowed()
		}
	})}})
	for range 20 {
		s.finish(p, s.take(p, Take{}), true)
		select {
		case n := <-allowed:
			if n != 0 {
				t.Fatalf("%d turns may be taken, though nobody waits", n)
			}
		default: // the topic was not open yet
		}
	}
}

// More than mostWaiting are refused, and those who wait are served in the order in which they came.
func TestMostWaiting(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 16})
	s.sends("x")
	p := s.poller(Config{})
	s.finish(p, s.take(p, Take{}), true)
	first := s.waits(p, Take{Wait: await.Patience})
	going, leave := context.WithCancel(ctx)
	var waiting sync.WaitGroup
	for range mostWaiting - 1 {
		waiting.Go(func() { _, _ = p.Take(going, []string{"orders"}, Take{Wait: time.Hour}) })
	}
	s.seated(p, mostWaiting)
	if _, err := p.Take(ctx, []string{"orders"}, Take{}); !errors.Is(err, ErrTooMany) {
		t.Error(err)
	}
	s.sends("y")
	s.finish(p, <-first, true)
	leave()
	waiting.Wait()
	s.nothing(p)
}
