package webtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
	"github.com/slotmq/go-rmq/server/console"
)

// stored is a key as Redis has it.
type stored struct {
	dump    string
	expires int64 // in milliseconds since 1970; 0: never
}

// everything is all that a Redis has.
func everything(t *testing.T, rdb redis.UniversalClient) map[string]stored {
	t.Helper()
	var mu sync.Mutex // a Cluster's servers are read at once
	all := map[string]stored{}
	read := func(ctx context.Context, node *redis.Client) error {
		keys, err := node.Keys(ctx, "*").Result()
		for _, key := range keys {
			if err := settle(ctx, node, key); err != nil {
				return err
			}
			tx := node.TxPipeline()
			dump, left, now := tx.Dump(ctx, key), tx.PTTL(ctx, key), tx.Time(ctx)
			if _, err := tx.Exec(ctx); errors.Is(err, redis.Nil) { // its time was over
				continue
			} else if err != nil {
				return fmt.Errorf("read %s: %w", key, err)
			}
			s := stored{dump: dump.Val()}
			if left.Val() > 0 {
				s.expires = now.Val().Add(left.Val()).UnixMilli()
			}
			mu.Lock()
			all[key] = s
			mu.Unlock()
		}
		return err
	}
	if c, many := rdb.(*redis.ClusterClient); many {
		must.Do(t, c.ForEachMaster(ctx, read))
	} else {
		must.Do(t, read(ctx, rdb.(*redis.Client)))
	}
	return all
}

// settle has Redis end what it does by itself: a hash that has grown is brought to its new table a little with each look
// at it, and DUMP writes it in the order of its tables.
func settle(ctx context.Context, node *redis.Client, key string) error {
	const looks = 500 // as many parts as the table of the scene's largest hash has, and more
	if kind, err := node.Type(ctx, key).Result(); kind != "hash" {
		return err
	}
	_, err := node.Pipelined(ctx, func(p redis.Pipeliner) error {
		for range looks {
			p.HExists(ctx, key, "")
		}
		return nil
	})
	return err
}

// changes are what differs. Ends of keys are calculated, so they may differ a little.
func changes(before, after map[string]stored) (found []string) {
	const little = 5000 // ms: the two clocks of Redis are not read at the same moment
	for key := range maps.Keys(after) {
		was, known := before[key]
		is := after[key]
		switch {
		case !known:
			found = append(found, "new: "+key)
		case was.dump != is.dump:
			found = append(found, "changed: "+key)
		case max(was.expires-is.expires, is.expires-was.expires) > little:
			found = append(found, fmt.Sprintf("%s ends at %d, not %d", key, is.expires, was.expires))
		}
	}
	for key, was := range before {
		over := was.expires > 0 && was.expires < time.Now().UnixMilli() // so it has gone by itself
		if _, kept := after[key]; !kept && !over {
			found = append(found, "gone: "+key)
		}
	}
	slices.Sort(found)
	return found
}

// documentedLook is the line of docs/DEPLOYMENT.md for a person who looks, for these topics.
func documentedLook(t *testing.T, topics ...string) []any {
	t.Helper()
	text, err := os.ReadFile("../../docs/DEPLOYMENT.md")
	must.Do(t, err)
	_, rest, _ := strings.Cut(string(text), "\nACL SETUSER orders-look on >secret ")
	line, _, _ := strings.Cut(rest, "\n")
	rights := strings.Fields(line)
	if len(rights) < 10 {
		t.Fatalf("docs/DEPLOYMENT.md has no line for those who look: %q", line)
	}
	args := []any{"acl", "setuser", "orders-look", "reset", "on", ">secret"}
	for _, right := range append(rights, "+cluster|slots", "+asking", "+command") { // of a Cluster's client
		for i, topic := range topics {
			if i == 0 || strings.Contains(right, "orders") {
				args = append(args, strings.ReplaceAll(right, "orders", strings.ReplaceAll(topic, " ", "?"))) // a pattern has no blank
			}
		}
	}
	return args
}

// To look changes nothing, and needs no more rights than the documents say: shown with all keys of Redis, before and
// after each page was looked at as the Redis user who only looks, on a console that may act and on one that may not: by
// day one of them on a Redis and the other one on a Cluster.
func TestLookingChangesNothing(t *testing.T) {
	t.Parallel()
	t.Run("Redis", func(t *testing.T) {
		t.Parallel()
		srv := servertest.Redis(t)
		lookingChangesNothing(t, srv.Client(t), srv.Client(t, func(o *redis.Options) { o.Username, o.Password = "orders-look", "secret" }))
	})
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		c := servertest.Cluster(t, 3, 0)
		lookingChangesNothing(t, c.Client(t), c.Client(t, func(o *redis.ClusterOptions) { o.Username, o.Password = "orders-look", "secret" }))
	})
}

func lookingChangesNothing(t *testing.T, rdb, looks redis.UniversalClient) {
	s := newScene(t, rdb)
	s.rest()
	var names []string
	for _, topic := range allTopics {
		names = append(names, topic.Name)
	}
	rights, acts := documentedLook(t, names...), []bool{true, false}
	if c, many := rdb.(*redis.ClusterClient); many {
		acts = []bool{false, true}
		must.Do(t, c.ForEachMaster(ctx, func(ctx context.Context, node *redis.Client) error { return node.Do(ctx, rights...).Err() }))
	} else {
		must.Do(t, rdb.Do(ctx, rights...).Err())
	}
	before := everything(t, rdb)
	if len(before) < 20 {
		t.Fatalf("only %d keys: the scene is empty", len(before)) // a check of nothing finds nothing
	}
	for _, act := range acts[:night.Times(1, 2)] {
		p := browser.Open(t, browser.View{})
		at := s.console(func(cfg *console.Config) { cfg.Redis, cfg.Act = looks, act })
		walk(t, p, at, few, func(address string) {
			// Who may act hears from the doctor which rights that needs.
			if text := p.Text("main"); strings.Contains(text, "NOPERM") || strings.Contains(text, "could not be looked at") || !act && strings.Contains(text, "lacks rights") {
				t.Errorf("%s: a right is missing:\n%s", address, text)
			}
			for _, problem := range p.Texts("main [role=alert]:not([hidden])") {
				t.Errorf("%s: %s", address, problem)
			}
			p.Fine()
		})
	}
	for _, change := range changes(before, everything(t, rdb)) {
		t.Error(change)
	}
}

// The comparison sees what a page could do.
func TestChangesAreFound(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	must.Do(t, rdb.Set(ctx, "a", "1", 0).Err())
	must.Do(t, rdb.HSet(ctx, "b", "f", "1").Err())
	must.Do(t, rdb.Set(ctx, "c", "1", time.Hour).Err())
	before := everything(t, rdb)
	if found := changes(before, everything(t, rdb)); found != nil {
		t.Errorf("changes of nothing: %q", found)
	}
	must.Do(t, rdb.Del(ctx, "a").Err())
	must.Do(t, rdb.HSet(ctx, "b", "f", "2").Err())
	must.Do(t, rdb.Expire(ctx, "c", 2*time.Hour).Err())
	must.Do(t, rdb.Set(ctx, "d", "1", 0).Err())
	if found := changes(before, everything(t, rdb)); len(found) != 4 {
		t.Errorf("found only %q", found)
	}
}

// rest ends the workers, so that nothing changes by itself, and leaves a message in flight and a worker that was here.
func (s *scene) rest() {
	s.t.Helper()
	s.release()
	must.Do(s.t, s.client.Close(ctx))
	later := time.Now().Add(time.Hour)
	must.Do(s.t, s.rdb.ZAdd(ctx, "prepare{orders_0}", redis.Z{Score: float64(time.Now().Unix()*1000 + 16), Member: "busy"}).Err())
	must.Do(s.t, s.rdb.HSet(ctx, "meta{orders_0}", "holder", "app8-1-2", "batch", 3, "until", later.UnixMilli(), "lease", 30_000).Err())
	must.Do(s.t, s.rdb.ZAdd(ctx, "rmq:workers{orders}", redis.Z{Score: float64(later.UnixMilli()), Member: "app8-1-2"}).Err())
}
