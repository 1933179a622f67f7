package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/server/databases"
)

func TestMain(m *testing.M) {
	program.Patience, cluster.Patience = await.Patience, 4*time.Second
	if os.Getenv(asRMQD) != "" {
		os.Unsetenv(asRMQD)
		main() // which exits
	}
	// What the person who runs the tests uses must not be touched by them.
	for _, v := range []string{"RMQ_REDIS", "RMQ_JOURNAL", "RMQ_ZK", "RMQ_NAMESPACE"} {
		os.Unsetenv(v)
	}
	servertest.Main(m)
}

var ctx = context.Background()

// asRMQD is a variable that makes the program of the tests be rmqd itself: it has all of it, and need not be built twice.
const asRMQD = "RMQ_TEST_AS_RMQD"

// rmqd is a command that runs rmqd as a process of its own, from a copy of this program, if one is named.
func rmqd(t testing.TB, copied string, args ...string) *osexec.Cmd {
	t.Helper()
	program := copied
	if program == "" {
		var err error
		program, err = os.Executable()
		must.Do(t, err)
	}
	cmd := osexec.Command(program, args...)
	cmd.Env = append(os.Environ(), asRMQD+"=1")
	return cmd
}

// kinds are all databases that may hold a journal.
var kinds = []string{"SQLite", "PostgreSQL", "MariaDB"}

var databaseNumber atomic.Int64

// emptyDatabase is the URL of one of a kind, that this test has for itself.
func emptyDatabase(t testing.TB, kind string) string {
	t.Helper()
	var server *servertest.Database
	switch kind {
	case "SQLite":
		return "sqlite:" + filepath.Join(t.TempDir(), "journal.db")
	case "PostgreSQL":
		server = servertest.SharedPostgreSQL(t)
	case "MariaDB":
		server = servertest.SharedMariaDB(t)
	}
	name := fmt.Sprintf("rmqd%d", databaseNumber.Add(1))
	exec(t, server.URL("rmq"), "CREATE DATABASE "+name)
	url := server.URL(name)
	if kind == "PostgreSQL" {
		url += "?connect_timeout=60" // a busy machine may need more than the usual 5 s
	}
	return url
}

// exec runs statements.
func exec(t testing.TB, url string, statements ...string) {
	t.Helper()
	db, _, err := databases.Open(url)
	must.Do(t, err)
	defer db.Close()
	for _, s := range statements {
		if _, err := db.ExecContext(ctx, s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// shop is a program with a journal, its Redis, and rmqd at both.
type shop struct {
	t       testing.TB
	server  *servertest.Server
	rdb     *redis.Client
	journal string
}

func newShop(t testing.TB, kind string) *shop {
	t.Helper()
	server := servertest.Redis(t)
	return &shop{t: t, server: server, rdb: server.Client(t), journal: emptyDatabase(t, kind)}
}

// run calls f with a client of this shop, that is closed behind it, and its journal then.
func (s *shop) run(cfg journal.Config, f func(*rmq.Client)) {
	s.t.Helper()
	db, dialect, err := databases.Open(s.journal)
	must.Do(s.t, err)
	defer db.Close()
	j, err := journal.Open(db, dialect, cfg)
	must.Do(s.t, err)
	client, err := rmq.New(rmq.Config{Redis: s.rdb, Journal: j, Worker: "app7", Backoff: rmq.Schedule(time.Millisecond)})
	must.Do(s.t, err)
	f(client)
	within, cancel := context.WithTimeout(ctx, 5*await.Patience) // the journal may hold a thousand rows
	defer cancel()
	must.Do(s.t, client.Close(within))
	must.Do(s.t, j.Close(within))
}

var (
	orders = rmq.Topic{Name: "orders", Kind: rmq.KindPriority, Slots: 4}
	mails  = rmq.Topic{Name: "mails", Kind: rmq.KindFixedTime, Slots: 4}
)

// work sends orders, and returns when all are handled: those with "bad" in their names die.
func (s *shop) work(client *rmq.Client, contents ...string) {
	s.t.Helper()
	all := make(chan struct{}, len(contents))
	must.Do(s.t, client.Listen(orders, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		defer func() { all <- struct{}{} }()
		if strings.Contains(d.Content, "bad") {
			return rmq.Dead(errors.New("no such tax code: XI"))
		}
		return nil
	}), rmq.ListenOptions{}))
	must.Do(s.t, client.Start(ctx))
	for _, c := range contents {
		_, err := client.Send(ctx, orders, rmq.Priority{Content: c, Priority: 500})
		must.Do(s.t, err)
	}
	for range contents {
		<-all
	}
}

// due sends mails that wait for tomorrow.
func (s *shop) due(client *rmq.Client, contents ...string) {
	s.t.Helper()
	for _, c := range contents {
		_, err := client.Send(ctx, mails, rmq.FixedTime{Content: c, In: 24 * time.Hour})
		must.Do(s.t, err)
	}
}

// result is what a call of rmqd left.
type result struct {
	code      int
	out, errs string
}

// call runs rmqd at a Redis and a journal. What it prints as text must fit a page.
func (s *shop) call(args ...string) result {
	s.t.Helper()
	r := call(append([]string{"--redis", "redis://" + s.server.Addr(), "--journal", s.journal}, args...)...)
	for line := range strings.Lines(r.out) {
		if len([]rune(line)) > 81 && !strings.HasPrefix(line, "{") {
			s.t.Errorf("rmqd %q: too long: %q", args, line)
		}
	}
	return r
}

func call(args ...string) result {
	var out, errs bytes.Buffer
	code := program.Run(ctx, args, strings.NewReader(""), &out, &errs)
	return result{code, out.String(), progress.ReplaceAllString(errs.String(), "")}
}

// progress is what rmqd says when something takes long, as all does on a busy machine.
var progress = regexp.MustCompile(`(?m)^\w+  [\d,]+( of [\d,]+)?  \S+/s.*\n`)

// text is what a call prints that goes well. It has the words.
func (s *shop) text(args []string, words ...string) string {
	s.t.Helper()
	r := s.call(args...)
	if r.code != 0 || r.errs != "" {
		s.t.Errorf("rmqd %q: exit code %d: %s", args, r.code, r.errs)
	}
	has(s.t, args, r.out, words...)
	return r.out
}

// fails is a call that ends with an exit code and one line with the words.
func (s *shop) fails(code int, args []string, words ...string) result {
	s.t.Helper()
	r := s.call(args...)
	failsWith(s.t, r, code, args, words...)
	return r
}

func failsWith(t testing.TB, r result, code int, args []string, words ...string) {
	t.Helper()
	_, line, asked := strings.Cut(r.errs, "? [y/N] ")
	if !asked {
		line = r.errs
	}
	if r.code != code || !strings.HasPrefix(line, "rmqd: ") || strings.Count(r.errs, "\n") != 1 {
		t.Errorf("rmqd %q: exit code %d and not %d, or not one line: %q", args, r.code, code, r.errs)
	}
	if strings.Contains(r.errs+r.out, "hush") {
		t.Errorf("rmqd %q shows a password: %q %q", args, r.out, r.errs)
	}
	has(t, args, r.errs, words...)
}

func has(t testing.TB, args []string, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("rmqd %q: no %q in\n%s", args, w, text)
		}
	}
}

// object is the one line of JSON that a call prints.
func (s *shop) object(into any, args ...string) {
	s.t.Helper()
	out := s.text(append(args, "--json"))
	if err := json.Unmarshal([]byte(out), into); err != nil {
		s.t.Fatalf("%q: %v", out, err)
	}
}

func words(line string) []string { return strings.Fields(line) }
