package kills

import (
	"fmt"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/system/workers"
	"github.com/slotmq/go-rmq/rmq"
)

// A worker is killed in the middle of a call, when it has done a part of it. All messages
// of the call come again, one by one, as their second delivery.
func TestProcessKilledInABatchCall(t *testing.T) {
	for way, shared := range map[string]func(*workers.Job){
		"redis": func(*workers.Job) {},
		"zookeeper": func(j *workers.Job) {
			zks := servertest.SharedZooKeeper(t)
			j.ZooKeeper, j.Session, j.Root = zks.Servers(), 5*time.Second, zks.Chroot(t)
		},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			j := workers.Job{Topics: []rmq.Topic{oneSlot}, Lease: crashLease, Backoff: 10 * time.Millisecond, Together: true}
			shared(&j)
			c := workers.New(t, j)
			contents := numbered(8)
			contents[3] += " " + workers.Hang
			c.Send(oneSlot, inOrder("shop", contents)...)
			a, b := c.Work(1)[0], c.Warm()
			c.AwaitEvent("a part of it is done", func(e proctest.Event) bool { return e.Kind == proctest.Done && e.Content == contents[2] })
			a.Kill()
			c.GoAll(b)
			c.Await("all is done by the other", func() bool { return c.By[b.Name] == len(contents) })
			c.AwaitAtRest()
			for worker, want := range map[string]struct {
				attempt int
				call    string
			}{a.Name: {1, fmt.Sprint(len(contents))}, b.Name: {2, "1"}} {
				begun := map[string]int{}
				for _, e := range starts(c.Events(), worker) {
					begun[e.Content]++
					if e.Attempt != want.attempt || e.Note != want.call {
						t.Errorf("%s has %q as delivery %d, in a call with %s messages", worker, e.Content, e.Attempt, e.Note)
					}
				}
				for _, content := range contents {
					if begun[content] != 1 {
						t.Errorf("%s has %q %d times", worker, content, begun[content])
					}
				}
			}
		})
	}
}
