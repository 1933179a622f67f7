package rmqtest

import (
	"context"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/frozen"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// settleWithin is how long Advance waits, in real time, for handlers to return.
const settleWithin = time.Minute

// Client is a client on an in-memory Redis of its own.
type Client struct {
	*rmq.Client

	t      testing.TB
	server *miniredis.Miniredis
	rdb    *redis.Client

	mu  sync.Mutex
	now time.Time
}

// New returns a client that is closed with the test. Its Redis is new and
// empty, and its clock stands still at the present second until Advance moves
// it. cfg.Redis and cfg.URL are ignored.
func New(t testing.TB, cfg rmq.Config) *Client {
	t.Helper()
	server := miniredis.RunT(t)
	c := &Client{t: t, server: server, now: time.Now().Truncate(time.Second)}
	server.SetTime(c.now)
	c.rdb = redis.NewClient(&redis.Options{Addr: server.Addr(), Protocol: 2})
	frozen.Set(c.rdb, c.Now)
	cfg.Redis, cfg.URL = c.rdb, ""
	client, err := rmq.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	c.Client = client
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), settleWithin)
		defer cancel()
		if err := client.Close(ctx); err != nil {
			t.Error(err)
		}
		frozen.Forget(c.rdb)
		_ = c.rdb.Close()
	})
	return c
}

// Redis returns the client of the in-memory Redis, to look at keys.
func (c *Client) Redis() redis.UniversalClient { return c.rdb }

// Now returns the time of the in-memory Redis.
func (c *Client) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// Advance moves the clock on by d, from one due message to the next, and
// returns when everything that has become due on the way is handled: first
// deliveries, those retries whose time has come, and what a plan of
// rmq.Client.Every sends. Advance(0) settles what is due already. A death is
// reported to a listener to the dead when the clock has moved on.
func (c *Client) Advance(d time.Duration) {
	c.t.Helper()
	target := c.Now().Add(d)
	c.settle()
	for {
		next, found := c.nextDue()
		if !found || next.After(target) {
			break
		}
		c.set(next)
		c.settle()
	}
	c.set(target)
	c.settle()
}

func (c *Client) settle() {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), settleWithin)
	defer cancel()
	if err := frozen.Settle(ctx, c.rdb); err != nil {
		c.t.Fatalf("rmqtest: handlers have not returned after %v of real time", settleWithin)
	}
}

func (c *Client) set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
	c.server.SetTime(now)
}

// nextDue returns when the next message, retry or time of a plan that is not due yet will be.
func (c *Client) nextDue() (next time.Time, found bool) {
	c.t.Helper()
	ctx, now := context.Background(), c.Now()
	topics, err := c.rdb.SMembers(ctx, protocol.TopicsKey).Result()
	if err != nil {
		c.t.Fatal(err)
	}
	earliest := func(key string, msPerScore float64) {
		// Exclusive, and the last score of the present millisecond: all of those
		// are due.
		after := "(" + strconv.FormatInt(int64(float64(now.UnixMilli()+1)/msPerScore)-1, 10)
		heads := c.rdb.ZRangeByScoreWithScores(ctx, key, &redis.ZRangeBy{Min: after, Max: "+inf", Count: 1}).Val()
		if len(heads) == 0 {
			return
		}
		if at := time.UnixMilli(int64(heads[0].Score * msPerScore)); at.After(now) && (!found || at.Before(next)) {
			next, found = at, true
		}
	}
	for _, topic := range topics {
		definition := c.rdb.HGetAll(ctx, protocol.DefinitionKey(topic)).Val()
		slots, _ := strconv.Atoi(definition["slots"])
		for slot := range slots {
			keys := protocol.KeysOf(topic, slot)
			if kind, _ := message.ParseKind(definition["kind"]); kind.Timed() {
				earliest(keys.Store, 1)
			}
			earliest(keys.Retry, 1.0/100) // ms × 100 + the retries left
			earliest(protocol.PlanKey(topic, slot), 1)
		}
	}
	return next, found
}
