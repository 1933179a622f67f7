package journaltest

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/server/databases"
)

// job is what a process is told that a test may kill.
type job struct {
	Dir, Name, What string
	URL, Redis      string
	Topic           rmq.Topic
}

// The jobs.
const relays = "relays" // what is in the outbox, for ever

// child does a job, if this process has one. It returns only if there is none.
func child() {
	var j job
	if !proctest.Child(&j) {
		return
	}
	if proctest.AwaitGo() {
		if err := j.run(context.Background()); err != nil {
			fmt.Fprintln(os.Stderr, "panic:", err) // the test looks for it
		}
	}
	os.Exit(1)
}

func (j job) run(ctx context.Context) error {
	db, dialect, err := databases.Open(j.URL)
	if err != nil {
		return err
	}
	kept, err := journal.Open(db, dialect, journal.Config{})
	if err != nil {
		return err
	}
	client, err := rmq.New(rmq.Config{Redis: redis.NewClient(&redis.Options{Addr: j.Redis}), Journal: kept, Lease: 2 * time.Second})
	if err != nil {
		return err
	}
	return journal.Relay(ctx, kept, client)
}

// crew is some processes of which one after the other is killed.
type crew struct {
	*proctest.Dir
	job     job
	alive   []*proctest.Process
	started int
}

func newCrew(t testing.TB, j job, size int) *crew {
	t.Helper()
	c := &crew{Dir: proctest.New(t), job: j}
	for range size {
		c.start()
	}
	return c
}

func (c *crew) start() {
	c.started++
	c.job.Dir, c.job.Name = c.Path, fmt.Sprintf("p%02d", c.started)
	p := c.Start(c.job.Name, c.job)
	p.Go()
	c.alive = append(c.alive, p)
}

// replace kills one and starts another.
func (c *crew) replace(i int) {
	c.alive[i].Kill()
	c.alive = append(c.alive[:i], c.alive[i+1:]...)
	c.start()
}
