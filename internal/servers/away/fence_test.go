package away

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// A server that has forgotten what it knew is logged once, whichever of its slots show it, and when; and again when
// it forgets what came after.
func TestFence(t *testing.T) {
	t.Parallel()
	log, lines := logged()
	server := servertest.SharedRedis(t)
	w, _ := watcher(t, log, server.Client(t))
	now := time.Now().UnixMicro()
	if w.Fence("store{x_0}", 0, 1) || w.Fence("store{x_0}", now, now) {
		t.Error("nothing is forgotten")
	}
	wantLines(t, log, lines)
	if !w.Fence("store{x_0}", now, 0) || !w.Fence("store{x_1}", now, now-1) {
		t.Error("the fence is less")
	}
	const forgotten = "Redis has forgotten what it knew: it came back empty, or older"
	wantLines(t, log, lines, forgotten)
	said := lines.All()[0].ContextMap()
	if _, known := said["remembers"]; known || said["server"] != server.Addr() || said["by"] != "store{x_0}" {
		t.Errorf("it says %v", said)
	}
	log.forgot[""] = time.Now().Add(-time.Hour)
	w.Fence("store{x_2}", now-3_600_000_000, 0) // the same loss, seen an hour later
	wantLines(t, log, lines, forgotten)
	w.Fence("store{x_2}", now, 5_000_000)
	wantLines(t, log, lines, forgotten, forgotten)
	if at, _ := lines.All()[1].ContextMap()["remembers"].(time.Time); at.Unix() != 5 {
		t.Errorf("it says %v", lines.All()[1].ContextMap())
	}

	at := time.Unix(1000, 0)
	for _, c := range []struct {
		was, now time.Duration
		say      bool
	}{
		{0, time.Second, false},
		{59 * time.Second, time.Hour, false}, // its clock may be ahead
		{61 * time.Second, 59 * time.Second, false},
		{61 * time.Second, 61 * time.Second, true},
	} {
		log.forgot["other"] = at
		if log.forgets("other", at.Add(c.was), at.Add(c.now)) != c.say {
			t.Errorf("%+v", c)
		}
	}
}
