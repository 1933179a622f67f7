package main

import (
	"bytes"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
)

// What a person may do wrong, or find broken, is answered in one line that says what to do.

func TestWrongURL(t *testing.T) {
	t.Parallel()
	folder, noDatabase := t.TempDir(), letter(t)
	postgres, maria := servertest.SharedPostgreSQL(t), servertest.SharedMariaDB(t)
	exec(t, maria.URL("rmq"), "CREATE USER IF NOT EXISTS locked@'127.0.0.1' IDENTIFIED BY 'secret'")
	for _, c := range []struct {
		url  string
		code int
		says string
	}{
		{"journal.db", 2, `--journal or RMQ_JOURNAL: the URL of the journal begins with "journal.db": write sqlite:PATH, postgres://user:password@host/database or mysql://`},
		{"redis://:hush@localhost", 2, "write sqlite:PATH, postgres://user:password@host/database or mysql://"},
		{"sqlite:", 2, "write sqlite:PATH, such as sqlite:/var/lib/rmq/journal.db"},
		{"sqlite:" + folder + "/none.db", 2, "there is no file " + folder + "/none.db"},
		{"sqlite://" + folder + "/none.db", 2, "write sqlite:PATH, such as sqlite:/var/lib/rmq/journal.db"},
		{"sqlite:" + folder, 2, folder + " is a folder: name a file in it"},
		{"sqlite:" + noDatabase, 1, "name another file: this one is no database of SQLite"},
		{"postgres://rmq:hush@127.0.0.1", 2, "it names no database: write postgres://user:password@127.0.0.1/database"},
		{"postgres://rmq:hush@127.0.0.1:1/rmq", 1, "start the server, or correct host and port in the URL"},
		{"postgres://rmq:hush@127.0.0.1:x/rmq", 2, "it cannot be read: the port is a number, and in a user or password write @ as %40"},
		{"postgres://rmq:%hush@127.0.0.1/rmq", 2, "it cannot be read: the port is a number, and in a user or password write @ as %40"},
		{"postgres://rmq:hush@nowhere.invalid/rmq", 1, "correct the host in the URL"},
		{"mysql://rmq:hush@nowhere.invalid/rmq", 1, "correct the host in the URL"},
		{"mysql://rmq:hush@127.0.0.1:1/rmq?tsl=true", 2, `it has "tsl": only tls is known here, as in ?tls=true`},
		{"mysql://rmq:hush@127.0.0.1:1/rmq?tls=maybe", 2, "tls=maybe: write true, skip-verify or preferred"},
		{postgres.URL("nowhere"), 1, "create the database, or correct its name in the URL"},
		{"mysql://rmq:hush@127.0.0.1:1/rmq", 1, "start the server, or correct host and port in the URL"},
		{"mysql://rmq:hush@127.0.0.1:1", 2, "it names no database: write mysql://user:password@127.0.0.1:1/database"},
		{"mysql:rmq", 2, "it names no host: write mysql://user:password@host/database"},
		{"postgres://rmq:hush@127.0.0.1:1/rmq?sslmode=maybe", 1, "sslmode"},
		{maria.URLOf("locked", "hush", "rmq"), 1, "correct the user or the password in the URL"},
		{maria.URL("nowhere"), 1, "create the database, or correct its name in the URL"},
	} {
		for _, command := range []string{"journal status", "journal history orders x", "journal restore --yes", "journal reconcile", "journal relay", "journal compact --yes", "explain orders x", "send orders x --priority 500"} {
			args := append(words(command), "--journal", c.url, "--redis", "redis://127.0.0.1:1")
			r := call(args...)
			failsWith(t, r, c.code, args, c.says)
			if strings.Count(r.errs, "connection refused") > 1 {
				t.Errorf("rmqd %q says it twice: %s", args, r.errs)
			}
		}
	}
	empty := emptyDatabase(t, "PostgreSQL")
	args := []string{"journal", "status", "--journal", empty}
	failsWith(t, call(args...), 1, args, "the journal's tables: there are none, or older ones")
}

// What is wrong with Redis, or the namespace, is said by commands about the journal, too.
func TestWrongRedis(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.run(journal.Config{}, func(client *rmq.Client) { s.due(client, "mail 1") })
	for _, command := range []string{"journal restore --yes", "journal reconcile", "journal relay"} {
		args := append(words(command), "--journal", s.journal, "--redis", "redis://127.0.0.1:1")
		failsWith(t, call(args...), 1, args, "Redis does not answer at 127.0.0.1:1")
		s.fails(2, append(words(command), "--namespace", "a{b"), "amespace")
	}
	s.fails(1, words("explain bills x"), `no such topic: "bills"`)
}

// letter is a file that is no database.
func letter(t testing.TB) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "letter.txt")
	must.Do(t, os.WriteFile(file, []byte(strings.Repeat("Dear customer, ", 100)), 0o600))
	return file
}

// A user who may only read sees all, and changes nothing.
func TestWithoutRights(t *testing.T) {
	t.Parallel()
	s := newShop(t, "PostgreSQL")
	u, err := url.Parse(s.journal)
	must.Do(t, err)
	name := strings.TrimPrefix(u.Path, "/")
	guest := "guest_" + name
	exec(t, s.journal, "CREATE USER "+guest)
	owner := s.journal
	s.run(journal.Config{}, func(client *rmq.Client) { s.due(client, "mail 1") })
	s.journal = servertest.SharedPostgreSQL(t).URLOf(guest, "", name)
	s.fails(1, words("journal status"), "permission denied", "give this user the right to create tables in the schema once")
	exec(t, owner, "GRANT SELECT ON ALL TABLES IN SCHEMA public TO "+guest)
	s.text(words("journal status"), "\nmails     1     0")
	s.text([]string{"explain", "mails", "mail 1"}, "sent, due ")
	s.text(words("journal restore --dry-run"), "1 there already")
	for _, command := range []string{"send mails x --in 1h", "cancel mails x", "journal restore --yes", "journal compact --yes"} {
		s.fails(1, words(command), "permission denied", "SELECT, INSERT, UPDATE and DELETE on those that begin with rmq_")
	}
	exec(t, owner, "GRANT INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO "+guest)
	s.text([]string{"send", "mails", "mail 2", "--in", "1h"})
	exec(t, owner, "ALTER USER "+guest+" SET default_transaction_read_only = on")
	s.fails(1, []string{"send", "mails", "mail 3", "--in", "1h"}, "name the primary in the URL: this server is a replica, or read-only")
	s.text(words("journal status"), "\nmails     2     0")
}

func TestOtherSchemas(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			s := newShop(t, kind)
			s.run(journal.Config{}, func(client *rmq.Client) { s.due(client, "mail 1") })
			exec(t, s.journal, "UPDATE rmq_schema SET version = 99")
			for _, command := range []string{"journal status", "explain mails x", "send mails x --in 1h", "journal restore --yes"} {
				s.fails(1, words(command), "schema 99 is newer than this program knows", "use a newer rmq")
			}
			exec(t, s.journal, "UPDATE rmq_schema SET version = 0")
			s.fails(1, words("journal status"), "older", "the next program that writes brings them up to date")
			s.text([]string{"send", "mails", "mail 2", "--in", "1h"})
			s.text(words("journal status"), "\nmails     2     0")
		})
	}
}

// A file that may not be written can be looked at.
func TestReadOnlyFile(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	dir, err := os.MkdirTemp("", "rmqd-") // t.TempDir is for the user of the test only
	must.Do(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must.Do(t, os.Chmod(dir, 0o755))
	file := filepath.Join(dir, "journal.db")
	s.journal = "sqlite:" + file
	s.run(journal.Config{}, func(client *rmq.Client) { s.due(client, "mail 1") })
	own, err := os.Executable()
	must.Do(t, err)
	text, err := os.ReadFile(own)
	must.Do(t, err)
	binary := filepath.Join(dir, "rmqd") // which another user may run
	must.Do(t, os.WriteFile(binary, text, 0o755))
	must.Do(t, os.Chmod(file, 0o444))
	must.Do(t, os.Chmod(dir, 0o555))
	asOther := func(args ...string) result {
		cmd := rmqd(t, binary, append([]string{"--redis", "redis://" + s.server.Addr(), "--journal", s.journal}, args...)...)
		var out, errs strings.Builder
		cmd.Stdout, cmd.Stderr = &out, &errs
		if os.Getuid() == 0 { // whom permissions do not stop
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		err := cmd.Run()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
	}
	for _, command := range []string{"send mails x --in 1h", "journal restore --yes", "journal compact --yes"} {
		failsWith(t, asOther(words(command)...), 1, words(command), "make the file and its folder writable for this user")
	}
	failsWith(t, asOther("journal", "status"), 1, words("journal status"), "writable for this user")
}

// On a full disk the sends of a program fail clearly, or go on, and the journal knows what
// is missing.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	disk := servertest.NewDisk(t, 2<<20)
	if disk == nil {
		return // it has run elsewhere
	}
	s.journal = "sqlite:" + filepath.Join(disk.Path, "journal.db")
	s.run(journal.Config{}, func(client *rmq.Client) { s.due(client, "mail 1") })
	long := strings.Repeat("x", 8000)
	n := 0
	send := func(client *rmq.Client) error {
		n++
		_, err := client.Send(ctx, mails, rmq.FixedTime{Content: fmt.Sprint(n, long), In: time.Hour})
		return err
	}

	s.run(journal.Config{Lag: time.Millisecond, Buffer: 64 << 10, Full: journal.Refuse}, func(client *rmq.Client) {
		disk.Fill(t)
		short, args := program, []string{"--redis", "redis://" + s.server.Addr(), "--journal", s.journal, "send", "mails", "mail 2", "--in", "1h"}
		short.Patience = 5 * time.Second // no one frees the disk in that time
		var out, errs bytes.Buffer
		code := short.Run(ctx, args, strings.NewReader(""), &out, &errs)
		failsWith(t, result{code, out.String(), errs.String()}, 1, args, "stored, but not in the journal: ", "make room on the disk")
		var err error
		for range 100 {
			if err = send(client); err != nil {
				break
			}
		}
		await.True(t, "the disk is full", func() bool { return strings.Contains(fmt.Sprint(send(client)), "make room on the disk") })
		if err = send(client); err == nil || !strings.Contains(err.Error(), "the journal is full") || strings.Contains(err.Error(), "\n") {
			t.Error(err)
		}
		disk.Free(t)
		await.True(t, "sends go on", func() bool { return send(client) == nil })
	})
	s.text(words("journal status"), "missed          nothing")

	gone := 0
	s.run(journal.Config{Lag: time.Millisecond, Buffer: 64 << 10, Full: journal.Drop}, func(client *rmq.Client) {
		disk.Fill(t)
		before := n
		for range 100 {
			must.Do(t, send(client))
		}
		gone = n - before
		disk.Free(t)
	})
	var status struct {
		Sends int
		Gaps  []struct{ Sends int }
	}
	s.object(&status, "journal", "status")
	told := 0
	for _, g := range status.Gaps {
		told += g.Sends
	}
	missing := len(s.stored()) - status.Sends - 1 // mail 2, of which rmqd has said it
	if told != missing || missing == 0 || missing > gone {
		t.Errorf("%+v; %d are missing", status, missing)
	}
	s.text(words("journal status"), fmt.Sprintf("missed          %d sends and 0 ends, see below", missing))
}
