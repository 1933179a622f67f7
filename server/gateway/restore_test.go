package gateway

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/server/databases"
)

// journaled is a site whose gateway keeps a journal.
func journaled(t testing.TB, adjust ...func(*Config)) *site {
	t.Helper()
	db, dialect, err := databases.Open("sqlite:" + filepath.Join(t.TempDir(), "journal.db"))
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, db.Close()) })
	j, err := journal.Open(db, dialect, journal.Config{})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, j.Close(await.CleanupContext(t))) })
	return siteOn(t, servertest.Redis(t).Client(t), append(adjust, func(cfg *Config) { cfg.Journal = j })...)
}

// What Redis has lost comes back from the journal, of those topics only that are named.
func TestRestore(t *testing.T) {
	t.Parallel()
	s := journaled(t, withSDMQ)
	id := ""
	sendAll := func() {
		for _, content := range []string{"a", "b", "c"} {
			s.ask(201, "POST", "/v1/topics/orders/messages", map[string]any{"kind": "priority", "content": content, "priority": 500})
		}
		id = s.ask(200, "POST", "/push", map[string]any{"topic": "ces", "body": "x", "delay": 3_600_000})["data"].(string)
	}
	sendAll()
	late, err := s.cfg.Journal.Flushed(await.Context(t), await.Patience) // a topic that the journal does not know yet is not looked at
	must.Do(t, err)
	want(t, "late", late, 0)
	want[any](t, "there", s.ask(200, "POST", "/v1/restore", map[string]any{"dry_run": true})["there"], 4.0)
	must.Do(t, s.rdb.FlushAll(await.Context(t)).Err())
	would := s.ask(200, "POST", "/v1/restore", map[string]any{"topics": []string{"orders"}, "dry_run": true})
	if would["waiting"] != 3.0 || would["dry_run"] != true || would["done"] != true {
		t.Error(would)
	}
	s.ask(404, "GET", "/v1/topics/orders", nil) // it was a dry run
	one := map[string]any{"topics": []string{"orders"}, "content": "b"}
	want[any](t, "one", s.ask(200, "POST", "/v1/restore", one)["waiting"], 1.0)
	one["content"] = "never sent"
	if p := s.ask(404, "POST", "/v1/restore", one); !strings.Contains(p["detail"].(string), "journal history") {
		t.Error(p)
	}
	lines := s.lines(200, "POST", "/v1/restore", map[string]any{"topics": []string{"orders"}, "rate": "1000/s"})
	if last := lines[len(lines)-1]; last["waiting"] != 2.0 || last["there"] != 1.0 || last["done"] != true {
		t.Error(lines)
	}
	want[any](t, "one job", s.ask(200, "GET", at("/reStoreJob", "jobId", id), nil)["success"], true)
	want[any](t, "jobs", s.ask(200, "GET", "/v1/topics/ces", nil)["waiting"], 1.0)
	must.Do(t, s.rdb.FlushAll(await.Context(t)).Err())
	want[any](t, "all jobs", s.ask(200, "GET", "/reStore?expire=false", nil)["data"], 4.0)
	want[any](t, "since", s.ask(200, "POST", "/v1/restore", map[string]any{"since": "2999-01-01T00:00:00Z"})["waiting"], 0.0)
}
