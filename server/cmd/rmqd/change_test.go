package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
)

// rows are what the journal has of one content, in order.
func (s *shop) rows(topic, content string) string {
	s.t.Helper()
	var h struct{ Rows []struct{ What string } }
	s.object(&h, "journal", "history", topic, content)
	all := make([]string, len(h.Rows))
	for i, r := range h.Rows {
		all[i] = r.What
	}
	return strings.Join(all, " ")
}

// What rmqd changes stands in the journal when it has ended.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.run(journal.Config{}, func(client *rmq.Client) {
		s.work(client, "bad 1", "bad 2", "bad 3")
		s.due(client, "mail 1", "mail 2")
	})
	s.text([]string{"send", "mails", "mail 3", "--in", "1d"})
	s.text([]string{"reschedule", "mails", "mail 1", "--in", "2d"})
	s.text([]string{"cancel", "mails", "mail 2"})
	s.text([]string{"dead", "requeue", "orders", "bad 1"})
	s.text([]string{"dead", "delete", "orders", "bad 2", "--yes"})
	s.text([]string{"every", "set", "mails", "daily", "--cron", "@daily", "--content", "report"})
	s.text([]string{"every", "run", "mails", "daily"})
	batch := t.TempDir() + "/mails.jsonl"
	must.Do(t, os.WriteFile(batch, []byte("{\"content\": \"mail 4\", \"in\": \"1d\"}\n{\"content\": \"mail 5\", \"in\": \"1d\"}\n"), 0o600))
	s.text([]string{"send", "mails", "--batch", batch})
	for _, c := range []struct{ topic, content, rows string }{
		{"mails", "mail 1", "sent sent"}, {"mails", "mail 2", "sent cancelled"}, {"mails", "mail 3", "sent"}, {"mails", "mail 4", "sent"}, {"mails", "mail 5", "sent"},
		{"mails", "report", "sent"}, {"orders", "bad 1", "sent dead sent"}, {"orders", "bad 2", "sent dead deleted"}, {"orders", "bad 3", "sent dead"},
	} {
		if got := s.rows(c.topic, c.content); got != c.rows {
			t.Errorf("%s: %s, want %s", c.content, got, c.rows)
		}
	}
	s.text(words("journal status"), "orders     1     1", "mails      5     0")

	// A dry run changes nothing, and needs no journal that can be written.
	exec(t, s.journal, "CREATE TRIGGER locked BEFORE UPDATE ON rmq_state BEGIN SELECT RAISE(ABORT, 'attempt to write a readonly database'); END")
	s.text([]string{"dead", "requeue", "orders", "--dry-run"}, "would requeue 1 dead message")
	s.fails(1, []string{"send", "mails", "mail 6", "--in", "1d"}, "make the file and its folder writable for this user")
	s.fails(1, []string{"explain", "mails", "mail 6"}, "mail 6 is not here")
}

func TestRestore(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, kind)
			s.run(journal.Config{}, func(client *rmq.Client) {
				s.work(client, "order 1", "bad 1", "bad 2")
				s.due(client, "mail 1", "mail 2", "mail 3")
			})
			before := s.stored()
			if len(before) != 5 {
				t.Fatal(before)
			}
			s.text(words("journal restore --dry-run"), "would restore 0 waiting messages and 0 dead; 5 there already")
			must.Do(t, s.rdb.FlushAll(ctx).Err())
			s.text(words("journal restore --dry-run"), "would restore 3 waiting messages and 2 dead\n")
			var would map[string]any
			s.object(&would, "journal", "restore", "--dry-run")
			if n := s.rdb.DBSize(ctx).Val(); n != 0 || would["dry_run"] != true || would["waiting"] != 3.0 || would["dead"] != 2.0 {
				t.Errorf("a dry run wrote %d keys, and says %v", n, would)
			}
			s.fails(2, []string{"journal", "restore", "mails", ""}, "CONTENT is empty: leave it out to restore the whole topic")
			s.fails(2, []string{"journal", "restore", "--base64", "mails", "?"}, "contents are base64")
			s.fails(2, []string{"journal", "restore", "--newer-than", "0s", "--yes"}, "less than 1ms")
			if n := s.rdb.DBSize(ctx).Val(); n != 0 {
				t.Errorf("what was misused wrote %d keys", n)
			}
			s.fails(1, words("journal restore"), "restore 3 waiting messages and 2 dead? [y/N] ", "nothing was changed")

			s.text([]string{"journal", "restore", "mails", "mail 2"}, "restored 1 waiting message and 0 dead\n")
			s.text([]string{"explain", "mails", "mail 2"}, "waiting       due in 23h", " restored\n")
			s.text([]string{"journal", "restore", "orders", "--yes"}, "restored 0 waiting messages and 2 dead\n")
			var done map[string]any
			s.object(&done, "journal", "restore", "--yes")
			if done["waiting"] != 2.0 || done["dead"] != 0.0 || done["there"] != 3.0 || done["perhaps_twice"] != 0.0 {
				t.Errorf("%v", done)
			}
			if after := s.stored(); !slices.Equal(before, after) {
				t.Errorf("before %v, after %v", before, after)
			}
			s.text([]string{"journal", "restore", "--leave-dead", "--newer-than", "1h", "--yes"}, "0 dead; 3 there already")
			s.fails(2, words("journal restore nowhere --yes"), "TOPIC is nowhere; it must be a topic that the journal knows: mails, orders")
			for _, args := range [][]string{{"mails", "nothing"}, {"orders", "order 1"}} {
				s.fails(1, append(words("journal restore"), args...), "nothing of "+args[1]+" is to be restored; rmqd journal history says what became of it")
				s.fails(1, append(words("journal restore --dry-run"), args...), "nothing of "+args[1])
			}
			s.text([]string{"journal", "restore", "mails", "mail 1"}, "restored 0 waiting messages and 0 dead; 1 there already\n")
		})
	}
}

// stored is what waits, and what is dead.
func (s *shop) stored() (all []string) {
	s.t.Helper()
	for _, topic := range []string{"orders", "mails"} {
		for slot := range 4 {
			k := protocol.KeysOf(topic, slot)
			waiting, err := s.rdb.ZRangeWithScores(ctx, k.Store, 0, -1).Result()
			must.Do(s.t, err)
			for _, z := range waiting {
				all = append(all, fmt.Sprintf("%s waits, %.0f", z.Member, z.Score))
			}
			dead, err := s.rdb.ZRange(ctx, k.Dead, 0, -1).Result()
			must.Do(s.t, err)
			for _, content := range dead {
				all = append(all, content+" is dead")
			}
		}
	}
	return all
}

// A restore that is interrupted says how far it got, and the next one does the rest.
func TestRestoreInterrupted(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.run(journal.Config{}, func(client *rmq.Client) {
		for n := range 300 {
			s.due(client, "mail "+time.Duration(n).String())
		}
	})
	must.Do(t, s.rdb.FlushAll(ctx).Err())
	interruptible, interrupt := context.WithCancel(ctx)
	go func() {
		defer interrupt()
		await.True(t, "something is stored", func() bool { return len(s.stored()) > 0 })
	}()
	var out, errs strings.Builder
	code := program.Run(interruptible, []string{"--redis", "redis://" + s.server.Addr(), "--journal", s.journal, "journal", "restore", "--yes", "--rate", "20/s"}, strings.NewReader(""), &out, &errs)
	lines := strings.Split(strings.TrimSuffix(errs.String(), "\n"), "\n") // on a busy machine, a line of progress comes first
	if line := lines[len(lines)-1]; code != 130 || !strings.HasPrefix(line, "rmqd: interrupted; restored ") || !strings.Contains(line, "; call it again for the rest") {
		t.Errorf("%d %q", code, line)
	}
	if n := len(s.stored()); n == 0 || n == 300 {
		t.Errorf("%d are there", n)
	}
	if r := s.call(words("journal restore --yes")...); r.code != 0 || !strings.Contains(r.out, "there already") {
		t.Errorf("%+v", r)
	}
	if n := len(s.stored()); n != 300 {
		t.Errorf("%d are there", n)
	}
}

func TestCompact(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.run(journal.Config{}, func(client *rmq.Client) {
		s.work(client, "order 1", "order 2", "bad 1")
		s.due(client, "mail 1")
	})
	s.text(words("journal compact --yes"), "deleted 0 sends, 0 ends, 0 effects, 0 gaps, 0 programs")
	for _, table := range []string{"rmq_sent", "rmq_ended"} {
		exec(t, s.journal, "UPDATE "+table+" SET at = at - 2 * 86400000")
	}
	s.fails(2, words("journal compact --older-than 59m"), "--older-than is 59m; it must be 1h or more")
	s.fails(1, words("journal compact --older-than 1d"), "delete what is older than 1d and not needed any more, from sqlite:", "? [y/N] ", "nothing was changed")
	var done map[string]any
	s.object(&done, words("journal compact --older-than 1d --yes")...)
	if done["sends"] != 2.0 || done["ends"] != 2.0 {
		t.Errorf("%v", done)
	}
	s.text(words("journal status"), "rows            2 sends, 1 end", "orders     0     1", "mails      1     0")
}
