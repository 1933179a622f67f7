package journaltest

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/server/databases"
)

// job is the task of a process that a test may kill.
type job struct {
	Dir, Name, What string
	URL, Redis      string
	Topic           rmq.Topic
	Stops           int64 // the handler that is the so-manyth to commit never returns
}

// The jobs, without end.
const (
	relays  = "relays"  // what is in the outbox
	handles = "handles" // messages, with an effect of each by Once
)

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

// openBeside opens the journal where other processes write into the same file. Nobody queues for its lock, so on a busy
// machine Open may not get it in its time; as any program would, this one is started again then.
func openBeside(db *sql.DB, dialect journal.Dialect, cfg journal.Config) (*journal.Journal, error) {
	for {
		if j, err := journal.Open(db, dialect, cfg); err == nil || !strings.Contains(err.Error(), "database is locked") {
			return j, err
		}
	}
}

// startBeside starts a client, again where a busy server did not answer in time.
func startBeside(ctx context.Context, client *rmq.Client) error {
	for begun := time.Now(); ; {
		if err := client.Start(ctx); err == nil || time.Since(begun) > await.Patience {
			return err
		}
	}
}

func (j job) run(ctx context.Context) error {
	db, dialect, err := databases.Open(j.URL)
	if err != nil {
		return err
	}
	kept, err := openBeside(db, dialect, journal.Config{})
	if err != nil {
		return err
	}
	client, err := rmq.New(rmq.Config{
		Redis: redis.NewClient(&redis.Options{Addr: j.Redis, ReadTimeout: await.Patience}), Journal: kept, Concurrency: 4, Lease: 2 * time.Second,
		Backoff: func(int) time.Duration { return time.Millisecond },
	})
	if err != nil {
		return err
	}
	if j.What == relays {
		return journal.Relay(ctx, kept, client)
	}
	log, err := proctest.OpenLog(j.Dir, j.Name)
	if err != nil {
		return err
	}
	var commits atomic.Int64
	err = client.Listen(j.Topic, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
		done, err := effect(ctx, kept, db, d, d.Content, "commit")
		if err == nil && !done && commits.Add(1) == j.Stops {
			log.Write(proctest.Event{Kind: proctest.Seen, Content: d.Content, Note: "committed"})
			select {} // until it is killed
		}
		return err
	}), rmq.ListenOptions{})
	if err != nil {
		return err
	}
	if err := startBeside(ctx, client); err != nil {
		return err
	}
	select {}
}

// crew is some processes that are killed one after the other.
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

// index is where a living process of that name is; -1 if there is none.
func (c *crew) index(name string) int {
	return slices.IndexFunc(c.alive, func(p *proctest.Process) bool { return p.Name == name })
}

// replace kills one and starts another.
func (c *crew) replace(i int) {
	c.alive[i].Kill()
	c.alive = append(c.alive[:i], c.alive[i+1:]...)
	c.start()
}
