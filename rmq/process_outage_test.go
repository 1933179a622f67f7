package rmq_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/rmq"
)

// What the handlers need is away, or takes nothing more, while workers are killed and others come, so that
// slots move all the time. Few deliveries are spent, nothing is lost, nothing dies, and all of it is
// handled in the end.
func TestProcessesInAnOutageAreKilled(t *testing.T) {
	const many, kills = 1000, 6
	topics := []rmq.Topic{
		{Name: "prices", Kind: rmq.KindRangeMerge, Slots: 16},
		{Name: "mails", Kind: rmq.KindFixedTime, Slots: 16},
		{Name: "orders", Kind: rmq.KindPriority, Slots: 16},
	}
	c := newCluster(t, job{Topics: topics, Lease: 2 * time.Second, Backoff: time.Millisecond, Work: time.Millisecond})
	for i, topic := range topics {
		order := away
		if i == 2 {
			order = full
		}
		var ms []rmq.Message
		for i := range many {
			ms = append(ms, messageOf(topic, content(fmt.Sprint(topic.Name, i), i, order), int64(100+i)))
		}
		c.send(topic, ms...)
	}
	alive := c.run(3)
	for kill := range kills {
		fails := c.fails()
		victim := alive[kill%len(alive)]
		c.Await("messages are tried", func() bool { return c.fails() > fails+20 })
		victim.Kill()
		alive[kill%len(alive)] = c.run(1)[0]
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
	if err := os.WriteFile(filepath.Join(c.Path, shopOpens), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.awaitHandled()
	c.awaitAtRest()
	most := 0
	for _, e := range c.Events() {
		if e.Kind == proctest.Done {
			most = max(most, e.Attempt)
			if e.Topic == "orders" && e.Attempt > 1+kills {
				t.Errorf("%s was pushed back, and has had %d attempts", e.Content, e.Attempt)
			}
		}
	}
	for _, topic := range topics {
		for slot := range topic.Slots {
			if n := c.rdb.ZCard(t.Context(), fmt.Sprintf("dead{%s_%d}", topic.Name, slot)).Val(); n > 0 {
				t.Errorf("%d of slot %d of %s are dead", n, slot, topic.Name)
			}
		}
	}
	t.Logf("%d workers: %d deliveries failed, %d were pushed back; %d attempts at most", 3+kills, fails, pushed, most)
	// Without a breaker each of the messages would be dead within a second.
	if workers := 3 + kills; fails > 2*workers*(8+16+20) {
		t.Errorf("%d workers spent %d deliveries", workers, fails)
	}
}

// fails counts how often handlers have failed.
func (c *cluster) fails() (n int) {
	for _, e := range c.Events() {
		if e.Kind == proctest.Fail {
			n++
		}
	}
	return n
}
