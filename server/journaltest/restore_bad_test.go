package journaltest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/message"
)

func TestBadRestores(t *testing.T) {
	t.Parallel()
	n := aNight(t)
	for _, cfg := range []recovery.Config{
		{Redis: n.rdb}, {Journal: n.j}, {Journal: n.j, Redis: n.rdb, Namespace: "a/b"}, {Journal: n.j, Redis: redis.NewRing(&redis.RingOptions{})},
	} {
		if _, err := recovery.New(cfg); !errors.Is(err, message.ErrInvalid) {
			t.Errorf("%+v: %v", cfg, err)
		}
		if ring, is := cfg.Redis.(*redis.Ring); is {
			must.Do(t, ring.Close())
		}
	}
	for _, o := range []recovery.Restore{{Rate: -1}, {Rate: 1e7}, {Topics: []string{"orders"}}} {
		if _, err := n.recovery().Restore(ctx, o); !errors.Is(err, message.ErrInvalid) || !strings.HasPrefix(err.Error(), "restore: ") {
			t.Errorf("%+v: %v", o, err)
		}
	}
	if _, err := n.recovery().Restore(canceled(), recovery.Restore{}); err == nil {
		t.Error("it does not end")
	}
}

// The line of docs/DEPLOYMENT.md is enough, and what is missing of it is named.
func TestRightsOfARestore(t *testing.T) {
	t.Parallel()
	line := documentedRights(t, "restorer", "orders-restore")
	srv := servertest.Redis(t)
	admin := srv.Client(t)
	as := srv.Client(t, func(o *redis.Options) {
		o.Username, o.Password, o.ContextTimeoutEnabled = "orders-restore", "secret", true
	})
	n := newNight(t, newPlace(t, "SQLite", false), as, message.KindPriority, true)
	n.topic.Name = "orders"
	n.sent(1, time.Now(), items(20, "a", "b")...)
	n.ended(message.Died, 7, "x", "b")
	grant := func(rights []string) {
		args := []any{"acl", "setuser", "orders-restore", "reset", "on", ">secret"}
		for _, right := range rights {
			args = append(args, right)
		}
		must.Do(t, admin.Do(ctx, args...).Err())
	}
	all := strings.Fields(line)
	for i, right := range all {
		grant(slices.Delete(slices.Clone(all), i, i+1))
		_, err := n.recovery().Restore(ctx, recovery.Restore{Patience: -1})
		oneLine(t, err, "restore: ", `Redis user "orders-restore"`, right, "docs/DEPLOYMENT.md")
	}
	grant(all)
	n.restores(recovery.Restore{DryRun: true}, recovery.Restored{Waiting: 1, Dead: 1, Twice: 1})
	n.restores(recovery.Restore{}, recovery.Restored{Waiting: 1, Dead: 1, Twice: 1})
	n.restores(recovery.Restore{}, recovery.Restored{There: 2})
	must.Do(t, admin.Do(ctx, "acl", "setuser", "orders-restore", "resetpass", ">changed").Err())
	must.Do(t, admin.ClientKillByFilter(ctx, "USER", "orders-restore").Err())
	_, err := n.recovery().Restore(ctx, recovery.Restore{Patience: -1})
	oneLine(t, err, "restore: ", `Redis does not know user "orders-restore" with this password`)
}

// A replica, or a full server: one line that says what to do.
func TestRestoreIntoARedisThatTakesNothing(t *testing.T) {
	t.Parallel()
	srv := servertest.Redis(t)
	n := newNight(t, newPlace(t, "SQLite", false), srv.Client(t), message.KindFixedTime, false)
	n.sent(1, time.Now(), items(later, "a")...)
	must.Do(t, n.rdb.ConfigSet(ctx, "maxmemory", "1").Err())
	_, err := n.recovery().Restore(ctx, recovery.Restore{Patience: -1})
	oneLine(t, err, "restore: Redis is full; raise its maxmemory")
	must.Do(t, n.rdb.ConfigSet(ctx, "maxmemory", "0").Err())
	n.restores(recovery.Restore{}, recovery.Restored{Waiting: 1})
	must.Do(t, n.rdb.FlushAll(ctx).Err())
	must.Do(t, n.rdb.ReplicaOf(ctx, "127.0.0.1", "1").Err())
	_, err = n.recovery().Restore(ctx, recovery.Restore{Patience: -1})
	oneLine(t, err, "restore: this Redis is a replica; connect to its master")
}
