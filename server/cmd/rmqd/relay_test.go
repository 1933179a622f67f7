package main

import (
	"context"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/server/databases"
)

// rmqd sends what a program has committed, also to the journal, and reports what is refused.
func TestRelay(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, kind)
			db, dialect, err := databases.Open(s.journal)
			must.Do(t, err)
			defer db.Close()
			j, err := journal.Open(db, dialect, journal.Config{})
			must.Do(t, err)
			defer j.Close(ctx)
			tx, err := db.BeginTx(ctx, nil)
			must.Do(t, err)
			must.Do(t, j.SendTx(ctx, tx, mails, rmq.FixedTime{Content: "mail 1", In: 24 * time.Hour}, rmq.FixedTime{Content: "mail 2", In: 24 * time.Hour}))
			other := mails
			other.Slots = 8
			must.Do(t, j.SendTx(ctx, tx, other, rmq.FixedTime{Content: "mail 3", In: 24 * time.Hour}))
			must.Do(t, tx.Commit())
			s.text(words("journal status"), "outbox          3 rows to be sent, the oldest for ")

			relaying, stop := context.WithCancel(ctx)
			ended := make(chan int, 1)
			go func() {
				ended <- program.Run(relaying, []string{"--redis", "redis://" + s.server.Addr(), "--journal", s.journal, "journal", "relay"}, strings.NewReader(""), io.Discard, io.Discard)
			}()
			await.True(t, "both are stored", func() bool { return len(s.stored()) == 2 })
			var status struct {
				Topics []struct{ Owed int }
				Outbox struct {
					Waiting, Refused int
					Reason           string
				}
			}
			await.True(t, "the outbox is empty", func() bool {
				s.object(&status, "journal", "status")
				return status.Outbox.Waiting == 0
			})
			if status.Outbox.Refused != 1 || len(status.Topics) != 1 || status.Topics[0].Owed != 2 {
				t.Errorf("%+v", status)
			}
			s.text(words("journal status"), "outbox          1 row refused, the oldest because ")
			stop()
			if code := <-ended; code != 0 {
				t.Errorf("exit code %d", code)
			}
		})
	}
}
