package rmq_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// ledger is a journal that keeps in memory what it is told.
type ledger struct {
	mu      sync.Mutex
	sends   map[string][]int64 // content -> the numbers of its sends
	settled map[string]int64   // content -> the largest fence of a batch in which it has ended
	ended   int
}

func newLedger() *ledger { return &ledger{sends: map[string][]int64{}, settled: map[string]int64{}} }

func (l *ledger) Ready() error { return nil }

func (l *ledger) Sent(all []*record.Sends, then func(error)) {
	l.mu.Lock()
	for _, s := range all {
		for _, x := range s.Items {
			l.sends[x.Content] = append(l.sends[x.Content], s.Number)
		}
	}
	l.mu.Unlock()
	then(nil)
}

func (l *ledger) Observe(e *message.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range e.Items {
		switch x.What {
		case message.Done, message.Died, message.Dropped:
			l.settled[x.Content] = max(l.settled[x.Content], e.Fence)
			l.ended++
		}
	}
}

// owed reports whether a send of the content is not settled.
func (l *ledger) owed(content string) bool {
	for _, number := range l.sends[content] {
		if number >= l.settled[content] {
			return true
		}
	}
	return false
}

// Whatever waits, is in flight or waits for its retry is owed by what the journal was told, though
// the same few contents are sent again all the time, and most deliveries fail.
func TestJournalKnowsWhatIsOwed(t *testing.T) {
	t.Parallel()
	seed := sharetest.Seed(t)
	for _, kind := range []rmq.Kind{rmq.KindRangeMerge, rmq.KindPriority, rmq.KindFixedTime} {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			rdb := servertest.SharedRedis(t).Client(t)
			l := newLedger()
			topic := rmq.Topic{Name: fmt.Sprintf("journal-%s-%d", kind, time.Now().UnixNano()), Kind: kind, Slots: 4}
			var clients []*rmq.Client
			for i := range 2 {
				c, err := rmq.New(rmq.Config{Redis: rdb, Journal: l, Backoff: rmq.Exponential(time.Millisecond, 5*time.Millisecond)})
				if err != nil {
					t.Fatal(err)
				}
				r := rand.New(rand.NewPCG(uint64(seed), uint64(i)))
				var mu sync.Mutex
				handle := func(context.Context, *rmq.Delivery) error {
					mu.Lock()
					defer mu.Unlock()
					switch r.IntN(3) {
					case 0:
						return errors.New("not now")
					case 1:
						return rmq.Dead(errors.New("never"))
					}
					return nil
				}
				if err := c.Listen(topic, rmq.ListenerFunc(handle), rmq.ListenOptions{}); err != nil {
					t.Fatal(err)
				}
				if err := c.Start(background); err != nil {
					t.Fatal(err)
				}
				clients = append(clients, c)
			}
			sender := newClient(t, rmq.Config{Redis: rdb, Journal: l})
			var senders sync.WaitGroup
			for i := range 3 {
				senders.Go(func() {
					sendAgain(t, sender, topic, night.Times(600, 3000), time.Millisecond, rand.New(rand.NewPCG(uint64(seed), uint64(10+i))))
				})
			}
			senders.Wait()
			for _, c := range clients {
				if err := c.Close(background); err != nil {
					t.Error(err)
				}
			}
			sendAgain(t, sender, topic, 100, time.Hour, rand.New(rand.NewPCG(uint64(seed), 20))) // nobody takes these
			there := 0
			for slot := range topic.Slots {
				k := protocol.KeysOf(topic.Name, slot)
				for _, key := range []string{k.Store, k.Prepare, k.Retry} {
					for _, content := range rdb.ZRange(background, key, 0, -1).Val() {
						if there++; !l.owed(content) {
							t.Errorf("%s is in %s, and settled: sent at %v, settled by %d", content, key, l.sends[content], l.settled[content])
						}
					}
				}
			}
			if there == 0 || l.ended == 0 {
				t.Errorf("%d were left, %d had ended", there, l.ended)
			}
			t.Logf("%d were left, %d had ended", there, l.ended)
		})
	}
}

// sendAgain sends few contents often.
func sendAgain(t *testing.T, c *rmq.Client, topic rmq.Topic, times int, in time.Duration, r *rand.Rand) {
	for range times {
		content := fmt.Sprint(r.IntN(20))
		var m rmq.Message = rmq.Priority{Content: content, Priority: 100}
		switch topic.Kind {
		case rmq.KindRangeMerge:
			m = rmq.RangeMerge{Content: content, Range: in}
		case rmq.KindFixedTime:
			m = rmq.FixedTime{Content: content, In: in}
		}
		if _, err := c.Send(background, topic, m); err != nil {
			t.Error(err)
			return
		}
	}
}
