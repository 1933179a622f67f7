package kills

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/system/workers"
	"github.com/slotmq/go-rmq/rmq"
)

// Workers put back all they get, and are killed in the middle of it. Only the kills spend attempts: of what a
// worker had in hand then. Nothing is lost, nothing dies, and when the shop opens all of it is handled.
func TestProcessesPutBackAndAreKilled(t *testing.T) {
	t.Parallel()
	const many = 50
	kills := night.Times(3, 8)
	topics := []rmq.Topic{
		{Name: "prices", Kind: rmq.KindRangeMerge, Slots: 4},
		{Name: "mails", Kind: rmq.KindFixedTime, Slots: 4},
		{Name: "orders", Kind: rmq.KindPriority, Slots: 4},
	}
	c := workers.New(t, workers.Job{Topics: topics, Lease: 5 * time.Second, Backoff: time.Millisecond, Work: 4 * time.Millisecond})
	for _, topic := range topics {
		var ms []rmq.Message
		for i := range many {
			ms = append(ms, workers.Message(topic, workers.Content(fmt.Sprint(topic.Name, i), i, workers.Closed), int64(100+i)))
		}
		c.Send(topic, ms...)
	}
	alive := c.Work(3)
	for kill := range kills {
		backs := c.Count[proctest.Fail]
		victim := alive[kill%len(alive)]
		c.Await("a worker is at work", func() bool { return c.Count[proctest.Fail] > backs+200 && c.Open(victim.Name) > 0 })
		victim.Kill()
		alive[kill%len(alive)] = c.Work(1)[0]
	}
	c.OpenShop()
	c.AwaitHandled()
	c.AwaitAtRest()
	spent, most := 0, 0
	for _, e := range c.Events() {
		if e.Kind == proctest.Done {
			spent += e.Attempt - 1
			most = max(most, e.Attempt-1)
		}
	}
	if dead := c.DeadOnes(); len(dead) > 0 {
		t.Errorf("they are dead: %v", dead)
	}
	// A kill hits a message once, at most. If to put back spent an attempt, some message would have more of them than that:
	// each was put back more often on average.
	if backs(c) <= kills*len(c.Sent) || most > kills {
		t.Errorf("%d times put back; %d attempts spent by %d kills, %d of one message", backs(c), spent, kills, most)
	}
	t.Logf("%d times put back; %d kills spent %d attempts, %d of one message at most", backs(c), kills, spent, most)
}

// backs counts how often handlers have put something back.
func backs(c *workers.Group) (n int) {
	for _, e := range c.Events() {
		if e.Kind == proctest.Fail && strings.HasPrefix(e.Note, "put back") {
			n++
		}
	}
	return n
}
