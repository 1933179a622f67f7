// Package nighttest is the stage of "A night with a poison message" in docs/OPERATIONS.md, on a real Redis with a real
// worker. One test plays that night by the commands, another one by the console.
//
//	n := nighttest.Begin(t, rdb) // 312 orders are dead, and 7 prices wait
//	n.Age(t)                     // as if they had died in the hours before
//	n.Deploy(t)                  // the repaired handler
//	n.AwaitDead(t, 311)          // one was requeued, and is handled
//
// The package asserts nothing of what people read: that is what the tests are for.
package nighttest

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

// The topics of that night.
var (
	Orders = message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 16}
	Prices = message.Topic{Name: "prices", Kind: message.KindRangeMerge, Slots: 16}
)

const (
	Poison = "order 4711, 12,50 EUR" // whose amount the handler cannot read
	Others = 311                     // orders that died of another reason
)

// Night is what goes on behind the scenes.
type Night struct {
	Worker string    // the id of the first worker
	Zero   time.Time // by the clock of Redis, when Age was called last

	rdb       redis.UniversalClient
	inspector *inspector.Inspector
	worker    *consumer.Consumer
}

// Begin returns when the orders are dead.
func Begin(t testing.TB, rdb redis.UniversalClient) *Night {
	t.Helper()
	n := &Night{rdb: rdb}
	var err error
	n.inspector, err = inspector.New(rdb, inspector.Config{})
	must.Do(t, err)
	n.worker = n.start(t, knowsTooLittle)
	t.Cleanup(func() { n.stop(t) })
	n.send(t)
	n.AwaitDead(t, Others+1)
	workers, err := n.inspector.Workers(t.Context())
	must.Do(t, err)
	n.Worker = workers[0].ID
	return n
}

func (n *Night) start(t testing.TB, handle consumer.ListenerFunc) *consumer.Consumer {
	t.Helper()
	c, err := consumer.New(n.rdb, consumer.Config{Worker: "app7", Backoff: verdict.Schedule(time.Millisecond)})
	must.Do(t, err)
	must.Do(t, c.Listen(Orders, handle, consumer.ListenOptions{}))
	must.Do(t, c.Listen(Prices, consumer.ListenerFunc(repaired), consumer.ListenOptions{}))
	must.Do(t, c.Start(t.Context()))
	return c
}

func (n *Night) stop(t testing.TB) {
	t.Helper()
	must.Do(t, n.worker.Close(await.CleanupContext(t))) // that of the test may have ended by now
}

func knowsTooLittle(_ context.Context, d *consumer.Delivery) error {
	if d.Content == Poison {
		_, err := strconv.ParseFloat("12,50", 64)
		return fmt.Errorf("read the amount: %w", err)
	}
	return verdict.DeadError(errors.New("no such tax code: XI"))
}

// repaired reads a comma in an amount, and knows the tax code XI.
func repaired(context.Context, *consumer.Delivery) error { return nil }

func (n *Night) send(t testing.TB) {
	t.Helper()
	p, err := producer.New(n.rdb, producer.Config{})
	must.Do(t, err)
	var prices []message.Message
	for i := range 7 {
		prices = append(prices, message.RangeMerge{Content: fmt.Sprint("price of ", 4700+i), Range: 10 * time.Hour})
	}
	orders := []message.Message{message.Priority{Content: Poison, SlotBasis: "customer 12", Priority: 900}}
	for i := range Others {
		orders = append(orders, message.Priority{Content: fmt.Sprintf("order %d, 1.00 XI", 5000+i), SlotBasis: fmt.Sprint("customer ", i), Priority: 500})
	}
	_, err = p.SendBatch(t.Context(), Prices, prices)
	must.Do(t, err)
	_, err = p.SendBatch(t.Context(), Orders, orders)
	must.Do(t, err)
	must.Do(t, p.Close(t.Context()))
}

// Deploy replaces the worker by one whose handler is repaired.
func (n *Night) Deploy(t testing.TB) {
	t.Helper()
	n.stop(t)
	n.worker = n.start(t, repaired)
}

// AwaitDead waits until so many orders are dead, and no other one is there.
func (n *Night) AwaitDead(t testing.TB, dead int) {
	t.Helper()
	await.True(t, fmt.Sprint(dead, " dead orders, and no other ones"), func() bool {
		s, err := n.inspector.Stats(t.Context(), Orders.Name)
		if errors.Is(err, inspector.ErrUnknownTopic) { // the worker has just begun
			return false
		}
		must.Do(t, err)
		return s.Counts == (inspector.Counts{Dead: dead}) && s.Workers == 1
	})
}

// Age makes the dead older, which died just now: the poison, and then one of the others each minute. Half a minute is
// left until a page or a table would show another time.
func (n *Night) Age(t testing.TB) {
	t.Helper()
	now, err := n.rdb.Time(t.Context()).Result()
	must.Do(t, err)
	n.Zero = now.Truncate(time.Millisecond)
	for slot := range Orders.Slots {
		k := protocol.KeysOf(Orders.Name, slot)
		for _, content := range n.rdb.ZRange(t.Context(), k.Dead, 0, -1).Val() {
			ago := 6*time.Hour + 45*time.Minute + 30*time.Second
			var number int
			if _, err := fmt.Sscanf(content, "order %d, 1.00", &number); err == nil {
				ago = 62*time.Minute + 30*time.Second + time.Duration(5000+Others-1-number)*time.Minute
			}
			died := n.Zero.Add(-ago)
			first := died.Add(-6*time.Minute - 12345*time.Millisecond)
			entry := strings.SplitN(n.rdb.HGet(t.Context(), k.Why, content).Val(), " ", 4) // attempts first last, and the rest
			if entry[0] == "1" {
				first = died
			}
			must.Do(t, n.rdb.ZAdd(t.Context(), k.Dead, redis.Z{Score: float64(died.UnixMilli()), Member: content}).Err())
			must.Do(t, n.rdb.HSet(t.Context(), k.Why, content, fmt.Sprintf("%s %d %d %s", entry[0], first.UnixMilli(), died.UnixMilli(), entry[3])).Err())
		}
	}
}
