package main

import (
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/slots"
)

func TestStatusAndHistory(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, kind)
			s.run(journal.Config{Flow: journal.All}, func(client *rmq.Client) {
				s.work(client, "order 1", "bad order")
				s.due(client, "mail 1")
			})
			s.text(words("journal status"), "since", "rows            3 sends, ", "missed          nothing", "no program at present",
				"TOPIC   OWED  DEAD", "orders     0     1", "mails      1     0")
			var status struct {
				Journal string
				Since   time.Time
				Sends   int
				Gaps    []any
				Writers []struct {
					Host   string
					Closed time.Time
				}
				Topics []struct {
					Topic      string
					Owed, Dead int
				}
			}
			s.object(&status, "journal", "status")
			if status.Sends != 3 || status.Gaps == nil || len(status.Writers) != 1 || status.Writers[0].Closed.IsZero() || len(status.Topics) != 2 || time.Since(status.Since) > time.Hour {
				t.Errorf("%+v", status)
			}

			s.text([]string{"journal", "history", "orders", "bad order"}, "bad order in slot ", " of orders: dead\n  2", "  sent   with priority 500\n", "  taken  attempt 1, by app7-", "  dead   attempt 1, by app7-", "no such tax code")
			s.text([]string{"journal", "history", "mails", "mail 1"}, "owed, no end of it is known", "  sent  due ")
			var history struct {
				Topic, Content, Verdict string
				Rows                    []struct {
					At                    time.Time
					What, Reason          string
					Number, Priority, Due any
				}
			}
			s.object(&history, "journal", "history", "orders", "bad order")
			if n := len(history.Rows); n != 3 || history.Verdict != "dead" || history.Content != "bad order" || history.Rows[0].What != "sent" || history.Rows[n-1].Reason != "no such tax code: XI" {
				t.Errorf("%+v", history)
			}
			s.fails(1, words("journal history orders nothing"), "nothing is not in the journal: never sent to orders, or ended longer ago")
			s.fails(1, words("journal history nowhere x"), "topic nowhere is not in the journal; rmqd journal status shows those that are")
		})
	}
}

// What is in a namespace is shown without it, and what is not is not shown.
func TestNamespace(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.run(journal.Config{}, func(client *rmq.Client) { s.due(client, "mail 1") })
	exec(t, s.journal, "UPDATE rmq_topic SET name = 'shop:mails'")
	s.text(words("journal status --namespace shop"), "\nmails ")
	s.text(words("journal status"), "\nshop:mails ")
	s.text([]string{"journal", "history", "--namespace", "shop", "mails", "mail 1"}, "of mails: owed")
	if out := s.text(words("journal status --namespace bank")); strings.Contains(out, "mails") {
		t.Error(out)
	}
}

// It says what was missed, when and by whom.
func TestGapsAreShown(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.run(journal.Config{}, func(client *rmq.Client) { s.due(client, "mail 1") })
	exec(t, s.journal, "INSERT INTO rmq_gap (id, writer, begins, ends, sends, endings) SELECT 1000, id, 1769828400000, 1769828640000, 5210, 12 FROM rmq_writer",
		"UPDATE rmq_writer SET closed = 0, flushed = flushed - 3600000", "UPDATE rmq_writer SET host = 'app1'")
	s.text(words("journal status"), "missed          5,210 sends and 12 ends, see below", "MISSED FROM", "5,210    12  app1", "1 other ended without a last word")
}

func TestExplainShowsTheJournal(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.run(journal.Config{}, func(client *rmq.Client) {
		s.work(client, "order 1", "bad order")
		s.due(client, "mail 1")
	})
	s.text([]string{"explain", "mails", "mail 1"}, "  waiting       due in ", "\n  journal       2", " sent, due ")
	var mail struct{ Journal []struct{ What string } }
	s.object(&mail, "explain", "mails", "mail 1")
	if len(mail.Journal) != 1 || mail.Journal[0].What != "sent" {
		t.Errorf("%+v", mail)
	}
	done := s.fails(1, []string{"explain", "orders", "order 1"}, "order 1 is not here any more: what became of it stands above; looked in all 4 slots of orders")
	has(t, nil, done.out, "of orders: done", "  sent  with priority 500", "  done  attempt 1, by app7-")
	s.fails(1, []string{"explain", "orders", "order 2"}, "order 2 is not here: never sent")
	for range 9 { // and only the newest rows are shown
		s.text([]string{"send", "mails", "mail 1", "--in", "1d"})
	}
	s.text([]string{"explain", "mails", "mail 1"}, "and 2 more before: rmqd journal history shows all")

	s.text([]string{"send", "mails", "mail 2", "--in", "1d"})
	slot := slots.Of("mail 2", mails.Slots)
	must.Do(t, s.rdb.ZRem(ctx, protocol.KeysOf("mails", slot).Store, "mail 2").Err())
	s.fails(1, []string{"explain", "mails", "mail 2"}, "mail 2 is not here, and it is owed: unless it was handled just now, rmqd journal restore brings it back")

	must.Do(t, s.rdb.FlushAll(ctx).Err())
	lost := s.fails(1, []string{"explain", "mails", "mail 1"}, `no such topic: "mails"`, "if Redis has lost it, rmqd journal restore brings it back")
	has(t, nil, lost.out, "owed, no end of it is known")
}

// Without a name the journal is a file of this folder.
func TestJournalOfThisFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	s := newShop(t, "SQLite")
	s.journal = "sqlite:rmq-journal.db"
	s.run(journal.Config{}, func(client *rmq.Client) { s.due(client, "mail 1") })
	if r := call("journal", "status"); r.code != 0 || !strings.Contains(r.out, "sqlite:rmq-journal.db") || !strings.Contains(r.out, "mails     1     0") {
		t.Errorf("%+v", r)
	}
}

// Without a journal rmqd is rmq.
func TestWithoutJournal(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	redis := "redis://" + s.server.Addr()
	if r := call("--redis", redis, "send", "mails", "mail 1", "--in", "1d", "--kind", "fixed-time"); r.code != 0 || r.errs != "" {
		t.Errorf("%+v", r)
	}
	if r := call("--redis", redis, "explain", "mails", "mail 1"); r.code != 0 || strings.Contains(r.out, "journal") {
		t.Errorf("%+v", r)
	}
	args := words("journal status")
	failsWith(t, call(args...), 2, args, "no journal: name it by --journal or RMQ_JOURNAL, for there is no file rmq-journal.db in this folder")
}
