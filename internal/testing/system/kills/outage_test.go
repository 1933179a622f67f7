package kills

import (
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/system/workers"
	"github.com/slotmq/go-rmq/rmq"
)

// What the handlers need is away, or takes nothing more, while workers are killed and others come, so that
// slots move all the time. Few deliveries are spent, nothing is lost, nothing dies, and all of it is
// handled in the end.
func TestProcessesInAnOutageAreKilled(t *testing.T) {
	t.Parallel()
	many, kills := night.Times(300, 1000), night.Times(3, 6)
	topics := []rmq.Topic{
		{Name: "prices", Kind: rmq.KindRangeMerge, Slots: 16},
		{Name: "mails", Kind: rmq.KindFixedTime, Slots: 16},
		{Name: "orders", Kind: rmq.KindPriority, Slots: 16},
	}
	c := workers.New(t, workers.Job{Topics: topics, Lease: 5 * time.Second, Backoff: time.Millisecond, Work: time.Millisecond})
	for i, topic := range topics {
		order := workers.Away
		if i == 2 {
			order = workers.Full
		}
		var ms []rmq.Message
		for i := range many {
			ms = append(ms, workers.Message(topic, workers.Content(fmt.Sprint(topic.Name, i), i, order), int64(100+i)))
		}
		c.Send(topic, ms...)
	}
	alive := c.Work(3)
	for kill := range kills {
		fails := c.Count[proctest.Fail]
		victim := alive[kill%len(alive)]
		c.Await("messages are tried", func() bool { return c.Count[proctest.Fail] > fails+20 })
		victim.Kill()
		alive[kill%len(alive)] = c.Work(1)[0]
	}
	fails, pushed := 0, 0
	for _, e := range c.Events() {
		switch {
		case e.Kind != proctest.Fail:
		case e.Topic == "orders":
			pushed++
		default:
			fails++
		}
	}
	c.OpenShop()
	c.AwaitHandled()
	c.AwaitAtRest()
	most := 0
	for _, e := range c.Events() {
		if e.Kind == proctest.Done {
			most = max(most, e.Attempt)
			if e.Topic == "orders" && e.Attempt > 1+kills {
				t.Errorf("%s was pushed back, and has had %d attempts", e.Content, e.Attempt)
			}
		}
	}
	if dead := c.DeadOnes(); len(dead) > 0 {
		t.Errorf("they are dead: %v", dead)
	}
	t.Logf("%d workers: %d deliveries failed, %d were pushed back; %d attempts at most", 3+kills, fails, pushed, most)
	// Without a breaker each of the messages would be dead within a second.
	if workers := 3 + kills; fails > 2*workers*(72+20) {
		t.Errorf("%d workers spent %d deliveries", workers, fails)
	}
}
