package workers

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// Group is some worker processes on a Redis of their own, and a client that sends.
type Group struct {
	*proctest.Dir
	T      *testing.T
	Server *servertest.Server // nil on servers of another kind
	Redis  redis.UniversalClient
	Client *rmq.Client
	Job    Job             // of those that are started next
	Sent   []string        // contents
	Dead   map[string]bool // that Redis holds in the end, if the test has looked
	Names  int             // of workers that were given away
}

// New is a group without workers.
func New(t *testing.T, j Job) *Group {
	t.Helper()
	server := servertest.Redis(t)
	patient := func(o *redis.Options) { o.ReadTimeout, o.MaxRetries = await.Patience, -1 } // nothing is sent twice
	c := NewOn(t, j, server.Client(t, patient), server.Addr())
	c.Server = server
	return c
}

// NewOn is New on servers that are there.
func NewOn(t *testing.T, j Job, rdb redis.UniversalClient, addrs ...string) *Group {
	t.Helper()
	c := &Group{Dir: proctest.New(t), T: t, Redis: rdb, Job: j}
	var err error
	c.Client, err = rmq.New(rmq.Config{Redis: c.Redis})
	must.Do(t, err)
	t.Cleanup(func() {
		if err := c.Client.Close(await.CleanupContext(t)); err != nil {
			t.Error(err)
		}
	})
	c.Job.Dir, c.Job.Redis = c.Path, strings.Join(addrs, ",")
	return c
}

// Warm starts a process that waits for Go. What adjusts its job may be given.
func (c *Group) Warm(adjust ...func(*Job)) *proctest.Process {
	c.T.Helper()
	j := c.Job
	c.Names++
	j.Name = fmt.Sprintf("w%02d", c.Names)
	for _, f := range adjust {
		f(&j)
	}
	return c.Start(j.Name, j)
}

// Work starts processes and returns when they work.
func (c *Group) Work(n int) []*proctest.Process {
	c.T.Helper()
	var ps []*proctest.Process
	for range n {
		ps = append(ps, c.Warm())
	}
	c.GoAll(ps...)
	return ps
}

// GoAll lets warm processes work, and returns when they do.
func (c *Group) GoAll(ps ...*proctest.Process) {
	c.T.Helper()
	for _, p := range ps {
		c.AwaitKind(p.Name, proctest.Warm)
	}
	for _, p := range ps {
		p.Go()
	}
	for _, p := range ps {
		c.AwaitKind(p.Name, proctest.Ready)
	}
}

// Send sends messages of one topic.
func (c *Group) Send(t rmq.Topic, ms ...rmq.Message) {
	c.T.Helper()
	_, err := c.Client.SendBatch(c.T.Context(), t, ms)
	must.Do(c.T, err)
	for _, m := range ms {
		switch m := m.(type) {
		case rmq.RangeMerge:
			c.Sent = append(c.Sent, m.Content)
		case rmq.Priority:
			c.Sent = append(c.Sent, m.Content)
		case rmq.FixedTime:
			c.Sent = append(c.Sent, m.Content)
		}
	}
}

// AwaitHandled waits until everything that was sent is done.
func (c *Group) AwaitHandled() {
	c.T.Helper()
	c.Await("everything sent is done", c.allHandled)
}

func (c *Group) allHandled() bool {
	return len(c.Handled) == len(c.Sent) // contents are sent once, and nothing else is there
}

// AwaitAtRest waits until no batch is in flight any more.
func (c *Group) AwaitAtRest() {
	c.T.Helper()
	c.Await("no batch is in flight", func() bool {
		pipe := c.Redis.Pipeline()
		for _, t := range c.Job.Topics {
			for slot := range t.Slots {
				pipe.Exists(c.T.Context(), fmt.Sprintf("prepare{%s_%d}", t.Name, slot))
			}
		}
		there, err := pipe.Exec(c.T.Context())
		must.Do(c.T, err)
		return !slices.ContainsFunc(there, func(cmd redis.Cmder) bool { return cmd.(*redis.IntCmd).Val() > 0 })
	})
}

// DeadOnes are the contents that are dead by now.
func (c *Group) DeadOnes() map[string]bool {
	c.T.Helper()
	pipe := c.Redis.Pipeline()
	for _, t := range c.Job.Topics {
		for slot := range t.Slots {
			pipe.ZRange(c.T.Context(), fmt.Sprintf("dead{%s_%d}", t.Name, slot), 0, -1)
		}
	}
	each, err := pipe.Exec(c.T.Context())
	must.Do(c.T, err)
	dead := map[string]bool{}
	for _, cmd := range each {
		for _, content := range cmd.(*redis.StringSliceCmd).Val() {
			dead[content] = true
		}
	}
	return dead
}

// leaseMargin is by how much a worker takes its lease to be shorter, as docs/PROTOCOL.md promises
// for leases of up to 5 s.
const leaseMargin = 500 * time.Millisecond

// Check judges the logs. Faults and repetitions without a reason fail the test.
func (c *Group) Check() proctest.Report {
	c.T.Helper()
	r := proctest.Check(c.Events(), c.Sent, proctest.Rules{
		MaxAttempts: message.MaxRetries + 1, Dead: c.Dead, Basis: basisOf,
		Lease: c.Job.Lease, Margin: leaseMargin, Session: c.Job.Session, Coasts: c.Job.Coast, Hung: 2 * c.Job.Timeout,
	})
	for _, f := range r.Faults {
		c.T.Error(f)
	}
	for _, a := range r.Again {
		if a.Cause == "" {
			c.T.Errorf("done again, and no kill explains it: %+v", a.Was)
		}
	}
	c.T.Log(r.String())
	return r
}

// OpenShop lets handlers do what they put back until then: see [Closed], [Away] and [Full].
func (c *Group) OpenShop() {
	c.T.Helper()
	must.Do(c.T, os.WriteFile(filepath.Join(c.Path, shopOpens), nil, 0o644))
}

// Content is "basis/number", and then perhaps a space and an order to the handler.
func Content(basis string, n int, order ...string) string {
	return strings.Join(append([]string{fmt.Sprintf("%s/%d", basis, n)}, order...), " ")
}

func basisOf(content string) string {
	basis, _, _ := strings.Cut(content, "/")
	return basis
}

// Message is one of any kind, due now.
func Message(t rmq.Topic, content string, priority int64) rmq.Message {
	switch t.Kind {
	case rmq.KindPriority:
		return rmq.Priority{Content: content, Priority: priority}
	case rmq.KindFixedTime:
		return rmq.FixedTime{Content: content, In: time.Millisecond}
	}
	return rmq.RangeMerge{Content: content, Range: time.Millisecond}
}

// Between is the time from one event to another.
func Between(a, b proctest.Event) time.Duration {
	return time.Duration(b.At - a.At).Round(time.Millisecond)
}
