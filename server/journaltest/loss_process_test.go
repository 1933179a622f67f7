package journaltest

import (
	"context"
	"fmt"
	"log/slog"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/server/databases"
)

// lossJob is the task of a process in a test with losses of Redis.
type lossJob struct {
	Loss      string // restore, send or work; empty: it is a process of another test
	Dir, Name string
	URL       string // of the journal
	Redis     string
	Wait      bool    // its journal
	Rate      float64 // of a restore, or of sends: messages a second
	Topics    string  // what their names begin with
}

// lossChild does the work of a process, if this is one of those, and does not return.
func lossChild() {
	var j lossJob
	if !proctest.Child(&j) || j.Loss == "" {
		return
	}
	if err := j.run(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, "panic:", err) // the test looks for this word
		os.Exit(1)
	}
	os.Exit(0)
}

func (j lossJob) run(ctx context.Context) error {
	log, err := proctest.OpenLog(j.Dir, j.Name)
	if err != nil {
		return err
	}
	db, dialect, err := databases.Open(j.URL)
	if err != nil {
		return err
	}
	defer db.Close()
	kept, err := openBeside(db, dialect, journal.Config{Wait: j.Wait, WaitAtMost: await.Patience, Slog: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	rdb := redis.NewClient(&redis.Options{Addr: j.Redis, MaxRetries: -1, ReadTimeout: await.Patience})
	defer rdb.Close()
	switch j.Loss {
	case "restore":
		err = j.restore(ctx, log, kept, rdb)
	case "send":
		err = j.send(ctx, log, kept, rdb)
	case "work":
		err = j.work(ctx, log, kept, rdb)
	}
	if err != nil {
		return err
	}
	return kept.Close(ctx)
}

const pageDone proctest.Kind = "page" // of a restore

// restore restores, and stays when it is done, so that the test can kill it at any time.
func (j lossJob) restore(ctx context.Context, log *proctest.Log, kept *journal.Journal, rdb *redis.Client) error {
	r, err := recovery.New(recovery.Config{Journal: kept, Redis: rdb})
	if err != nil {
		return err
	}
	log.Write(proctest.Event{Kind: proctest.Warm})
	if !proctest.AwaitGo() {
		return nil
	}
	done, err := r.Restore(ctx, recovery.Restore{Rate: j.Rate, Patience: -1, Progress: func(done recovery.Restored) {
		log.Write(proctest.Event{Kind: pageDone, Note: done.String()})
	}})
	if err != nil {
		return err
	}
	log.Write(proctest.Event{Kind: proctest.Done, Note: done.String()})
	select {}
}
