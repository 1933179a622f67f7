package faults

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// One Redis that refuses what it is asked for: because its memory or its disk is
// full, because it has too few replicas, because it is loading. Sends fail for
// certain and say why, nothing that waits gets lost or spends an attempt, and
// when the reason is gone all goes on by itself.
func TestFaultRedisRefuses(t *testing.T) {
	t.Parallel()
	t.Log("figures: " + figuresHead)
	ctx := context.Background()
	begin := func(t *testing.T, fault string, args ...string) (*traffic, *servertest.Server, func(args ...any)) {
		server := servertest.Redis(t, args...)
		l := newTraffic(t, onOneRedis(t, server), fault, "one Redis", patient).begin()
		rdb := server.Client(t)
		return l, server, func(args ...any) {
			t.Helper()
			must.Do(t, rdb.Do(ctx, args...).Err())
		}
	}

	t.Run("memory full", func(t *testing.T) {
		t.Parallel()
		l, _, do := begin(t, "memory full")
		l.harm()
		do("config", "set", "maxmemory", "1")
		l.await("sends are refused", func() bool { return l.told(refused, "OOM") > 20 })
		l.work() // a worker may start, too
		l.await("all that waits is handled", func() bool { n, err := l.left(); return err == nil && n == 0 })
		do("config", "set", "maxmemory", "0")
		l.flows(60)
		l.figures().kept().once().refusedOnlyBy("OOM")
	})
	t.Run("disk full", func(t *testing.T) {
		t.Parallel()
		l, server, do := begin(t, "disk full (MISCONF)")
		do("config", "set", "save", "3600 1000000") // or nobody minds that it cannot save
		inTheWay := filepath.Join(server.Dir, "dump.rdb")
		must.Do(t, os.MkdirAll(filepath.Join(inTheWay, "x"), 0o700))
		l.harm()
		do("bgsave")
		l.await("sends and turns are refused", func() bool { return l.told(refused, "MISCONF") > 60 && l.has("script: MISCONF") })
		must.Do(t, os.RemoveAll(inTheWay))
		do("bgsave")
		l.flows(60)
		l.figures().kept().once().refusedOnlyBy("MISCONF")
	})
	t.Run("replicas missing", func(t *testing.T) {
		t.Parallel()
		l, _, do := begin(t, "too few replicas (NOREPLICAS)")
		l.harm()
		do("config", "set", "min-replicas-to-write", "1")
		l.await("sends and turns are refused", func() bool { return l.told(refused, "NOREPLICAS") > 60 && l.has("script: NOREPLICAS") })
		do("config", "set", "min-replicas-to-write", "0")
		l.flows(60)
		l.figures().kept().once().refusedOnlyBy("NOREPLICAS")
	})
	t.Run("restarted, loading", func(t *testing.T) {
		t.Parallel()
		// It loads slowly, and answers meanwhile that it does.
		l, server, _ := begin(t, "killed and restarted, loading", "--appendonly", "yes", "--appendfsync", "always",
			"--key-load-delay", "400", "--loading-process-events-interval-bytes", "1024")
		pipe := server.Client(t).Pipeline()
		for range 10_000 {
			pipe.LPush(ctx, "much to load", "x")
		}
		_, err := pipe.Exec(ctx)
		must.Do(t, err)
		l.harm()
		server.Kill()
		server.Restart(t)
		l.flows(60)
		l.wantMet(t, "LOADING")
		l.figures().kept()
	})
}

// refusedOnlyBy fails the test if sends were refused for another reason.
func (f figures) refusedOnlyBy(word string) figures {
	f.l.t.Helper()
	if f.uncertain > 0 || f.refused != f.l.refusals[word] {
		f.l.t.Errorf("%d sends are uncertain, and refused were %v; want refusals by %s only", f.uncertain, f.l.refusals, word)
	}
	return f
}
