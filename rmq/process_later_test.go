package rmq_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/rmq"
)

// Workers put back all they get, and are killed in the middle of it. Only the kills spend attempts: of what a
// worker had in hand then. Nothing is lost, nothing dies, and when the shop opens all of it is handled.
func TestProcessesPutBackAndAreKilled(t *testing.T) {
	const many, kills = 50, 8
	topics := []rmq.Topic{
		{Name: "prices", Kind: rmq.KindRangeMerge, Slots: 4},
		{Name: "mails", Kind: rmq.KindFixedTime, Slots: 4},
		{Name: "orders", Kind: rmq.KindPriority, Slots: 4},
	}
	c := newCluster(t, job{Topics: topics, Lease: 2 * time.Second, Backoff: time.Millisecond, Work: 4 * time.Millisecond})
	for _, topic := range topics {
		var ms []rmq.Message
		for i := range many {
			ms = append(ms, messageOf(topic, content(fmt.Sprint(topic.Name, i), i, closed), int64(100+i)))
		}
		c.send(topic, ms...)
	}
	alive := c.run(3)
	for kill := range kills {
		backs := c.backs()
		victim := alive[kill%len(alive)]
		c.Await("a worker is at work", func() bool { return c.backs() > backs+200 && c.Open(victim.Name) > 0 })
		victim.Kill()
		alive[kill%len(alive)] = c.run(1)[0]
	}
	if err := os.WriteFile(filepath.Join(c.Path, shopOpens), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	c.awaitHandled()
	c.awaitAtRest()
	spent, most := 0, 0
	for _, e := range c.Events() {
		if e.Kind == proctest.Done {
			spent += e.Attempt - 1
			most = max(most, e.Attempt-1)
		}
	}
	for _, topic := range topics {
		for slot := range topic.Slots {
			if n := c.rdb.ZCard(t.Context(), fmt.Sprintf("dead{%s_%d}", topic.Name, slot)).Val(); n > 0 {
				t.Errorf("%d of slot %d of %s are dead", n, slot, topic.Name)
			}
		}
	}
	// A kill hits what its worker has in hand, once. That is little beside all that was put back.
	if most > kills || spent > c.backs()/20 {
		t.Errorf("%d attempts spent by %d kills, %d of one message", spent, kills, most)
	}
	t.Logf("%d times put back; %d kills spent %d attempts, %d of one message at most", c.backs(), kills, spent, most)
}

// backs counts how often handlers have put something back.
func (c *cluster) backs() (n int) {
	for _, e := range c.Events() {
		if e.Kind == proctest.Fail && strings.HasPrefix(e.Note, "put back") {
			n++
		}
	}
	return n
}
