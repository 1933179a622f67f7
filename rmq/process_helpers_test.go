package rmq_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/definition"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// cluster is some worker processes on a Redis of their own, and a client that
// sends.
type cluster struct {
	*proctest.Dir
	t      *testing.T
	server *servertest.Server
	rdb    redis.UniversalClient
	client *rmq.Client
	job    job
	sent   []string
	dead   map[string]bool // that Redis holds in the end, if the test has looked
	names  int
}

func newCluster(t *testing.T, j job) *cluster {
	t.Helper()
	server := servertest.Redis(t)
	c := newClusterOn(t, j, server.Client(t), server.Addr())
	c.server = server
	return c
}

// newClusterOn is newCluster on servers that are there.
func newClusterOn(t *testing.T, j job, rdb redis.UniversalClient, addrs ...string) *cluster {
	t.Helper()
	c := &cluster{Dir: proctest.New(t), t: t, rdb: rdb, job: j}
	var err error
	if c.client, err = rmq.New(rmq.Config{Redis: c.rdb}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.client.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	c.job.Dir, c.job.Redis = c.Path, strings.Join(addrs, ",")
	return c
}

// warm starts a process that waits for Go. What adjusts its job may be given.
func (c *cluster) warm(adjust ...func(*job)) *proctest.Process {
	c.t.Helper()
	j := c.job
	c.names++
	j.Name = fmt.Sprintf("w%02d", c.names)
	for _, f := range adjust {
		f(&j)
	}
	return c.Start(j.Name, j)
}

// run starts processes and returns when they work.
func (c *cluster) run(n int) []*proctest.Process {
	c.t.Helper()
	var ps []*proctest.Process
	for range n {
		ps = append(ps, c.warm())
	}
	c.goAll(ps...)
	return ps
}

// goAll lets warm processes work, and returns when they do.
func (c *cluster) goAll(ps ...*proctest.Process) {
	c.t.Helper()
	for _, p := range ps {
		c.AwaitKind(p.Name, proctest.Warm)
		p.Go()
	}
	for _, p := range ps {
		c.AwaitKind(p.Name, proctest.Ready)
	}
}

// send sends messages of one topic.
func (c *cluster) send(t rmq.Topic, ms ...rmq.Message) {
	c.t.Helper()
	if _, err := c.client.SendBatch(context.Background(), t, ms); err != nil {
		c.t.Fatal(err)
	}
	for _, m := range ms {
		switch m := m.(type) {
		case rmq.RangeMerge:
			c.sent = append(c.sent, m.Content)
		case rmq.Priority:
			c.sent = append(c.sent, m.Content)
		case rmq.FixedTime:
			c.sent = append(c.sent, m.Content)
		}
	}
}

// awaitHandled waits until everything that was sent is done.
func (c *cluster) awaitHandled() {
	c.t.Helper()
	c.Await("everything sent is done", c.allHandled)
}

func (c *cluster) allHandled() bool {
	return len(c.Handled) == len(c.sent) // contents are sent once, and nothing else is there
}

// awaitAtRest waits until no batch is in flight any more.
func (c *cluster) awaitAtRest() {
	c.t.Helper()
	c.Await("no batch is in flight", func() bool {
		for _, t := range c.job.Topics {
			for slot := range definition.Full(t).Slots {
				if c.rdb.Exists(context.Background(), fmt.Sprintf("prepare{%s_%d}", t.Name, slot)).Val() > 0 {
					return false
				}
			}
		}
		return true
	})
}

// check judges the logs. Faults and repetitions without a reason fail the test.
func (c *cluster) check() proctest.Report {
	c.t.Helper()
	r := proctest.Check(c.Events(), c.sent, proctest.Rules{
		MaxAttempts: rmq.MaxRetries + 1, Dead: c.dead, Basis: basisOf,
		Lease: c.job.Lease, Session: c.job.Session, Coasts: c.job.Coast, MaxHandlerTime: c.job.MaxHandlerTime,
	})
	for _, f := range r.Faults {
		c.t.Error(f)
	}
	for _, a := range r.Again {
		if a.Cause == "" {
			c.t.Errorf("done again, and no kill explains it: %+v", a.Was)
		}
	}
	c.t.Log(r.String())
	return r
}

// A content is "basis/number", and then perhaps a space and an order to the
// handler.
func content(basis string, n int, order ...string) string {
	return strings.Join(append([]string{fmt.Sprintf("%s/%d", basis, n)}, order...), " ")
}

func basisOf(content string) string {
	basis, _, _ := strings.Cut(content, "/")
	return basis
}

// starts are the deliveries that a worker has begun.
func starts(events []proctest.Event, worker string) (found []proctest.Event) {
	for _, e := range events {
		if e.Kind == proctest.Start && e.Worker == worker {
			found = append(found, e)
		}
	}
	return found
}

// between is the time from one event to another.
func between(a, b proctest.Event) time.Duration {
	return time.Duration(b.At - a.At).Round(time.Millisecond)
}
