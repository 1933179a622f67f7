package databases_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/server/databases"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// What docs/JOURNAL.md shows.
func TestProgramWithAJournal(t *testing.T) {
	check := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	ctx := context.Background()
	rdb := servertest.Redis(t).Client(t)
	mails := rmq.Topic{Name: "mails", Kind: rmq.KindFixedTime}
	t.Chdir(t.TempDir())

	db, dialect, err := databases.Open("sqlite:journal.db")
	check(err)
	j, err := journal.Open(db, dialect, journal.Config{})
	check(err)
	client, err := rmq.New(rmq.Config{Redis: rdb, Journal: j})
	check(err)

	for n := range 3 {
		_, err := client.Send(ctx, mails, rmq.FixedTime{Content: fmt.Sprint("mail ", n), In: time.Hour})
		check(err)
	}

	tx, err := db.BeginTx(ctx, nil)
	check(err)
	defer tx.Rollback()
	_, err = tx.ExecContext(ctx, "CREATE TABLE orders (id INTEGER)")
	check(err)
	_, err = tx.ExecContext(ctx, "INSERT INTO orders (id) VALUES (4711)")
	check(err)
	check(j.SendTx(ctx, tx, mails, rmq.FixedTime{Content: "mail for order 4711", In: time.Hour}))
	check(tx.Commit())

	relaying, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- journal.Relay(relaying, j, client) }()
	for sent := false; !sent; {
		s, err := j.Status(ctx)
		check(err)
		sent = s.Outbox.Waiting == 0
	}
	stop()
	check(<-ended)

	check(client.Close(ctx)) // first: it still tells what has ended
	check(j.Close(ctx))
	check(db.Close())

	check(rdb.FlushAll(ctx).Err())
	file, err := filepath.Abs("journal.db")
	check(err)
	db, dialect, err = databases.Open("sqlite:" + file)
	check(err)
	defer db.Close()
	j, err = journal.Open(db, dialect, journal.Config{})
	check(err)
	defer j.Close(ctx)

	r, err := recovery.New(recovery.Config{Journal: j, Redis: rdb})
	check(err)
	done, err := r.Restore(ctx, recovery.Restore{})
	check(err)
	fmt.Println(done) // 4 waiting, 0 dead, 0 perhaps twice

	if done.Waiting != 4 {
		t.Error(done)
	}
}
