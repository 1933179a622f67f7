package inspector

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// complaints keeps what a test would fail with.
type complaints struct {
	testing.TB
	said []string
}

func (c *complaints) Errorf(format string, args ...any) {
	c.said = append(c.said, fmt.Sprintf(format, args...))
}

// The hook that all tests here rely on does see too large calls.
func TestBoundsAreWatched(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	fill(t, server.Client(t), "many", 501, func(i int) redis.Z { return redis.Z{Member: i, Score: 1} })
	for says, call := range map[string]func(rdb *redis.Client){
		"":                            func(rdb *redis.Client) { rdb.ZRangeWithScores(ctx, "many", 0, 499) },
		"zrange: 501 elements":        func(rdb *redis.Client) { rdb.ZRangeWithScores(ctx, "many", 0, 500) },
		"may have any number":         func(rdb *redis.Client) { rdb.HGetAll(ctx, "hash") },
		"zmscore: 1502 arguments":     func(rdb *redis.Client) { rdb.ZMScore(ctx, "many", make([]string, 1500)...) },
		"201 calls in a pipeline":     func(rdb *redis.Client) { pipelined(rdb, 201, "ping") },
		"zrange: 501 elements in the": func(rdb *redis.Client) { pipelined(rdb, 1, "zrange", "many", 0, 500) },
	} {
		c := &complaints{TB: t}
		call(bounded(c, server.Client(t)))
		if (says == "") != (c.said == nil) || !strings.Contains(strings.Join(c.said, ","), says) {
			t.Errorf("%q, want %q", c.said, says)
		}
	}
}

func pipelined(rdb *redis.Client, n int, args ...any) {
	_, _ = rdb.Pipelined(ctx, func(pipe redis.Pipeliner) error {
		for range n {
			pipe.Do(ctx, args...)
		}
		return nil
	})
}

// A topic of far more slots than fit in one pipeline.
func TestManySlots(t *testing.T) {
	onEach(t, func(t *testing.T, rdb redis.UniversalClient, i *Inspector) {
		topic := define(t, rdb, message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 8192})
		due := time.Now().UnixMilli()
		for n := range 300 {
			zadd(t, rdb, protocol.StoreKey(topic.Name, n*20), fmt.Sprint("mail ", n), due+int64(n))
		}
		sum, err := i.Stats(ctx, topic.Name)
		if err != nil || sum.Waiting != 300 {
			t.Errorf("%+v, %v", sum, err)
		}
		first, err := each(i.Peek(ctx, topic.Name, Waiting, nil, 7))
		if err != nil || len(first) != 7 || first[0].Content != "mail 0" || first[6].Content != "mail 6" {
			t.Errorf("%+v, %v", first, err)
		}
		if e := explain(t, i, topic.Name, "mail 299"); e.Slot != 299*20 {
			t.Errorf("%+v", e)
		}
	})
}

// In memory everything works as well.
func TestInMemory(t *testing.T) {
	t.Parallel()
	mini, rdb := servertest.Memory(t)
	other := redis.NewClient(&redis.Options{Addr: mini.Addr(), ReadTimeout: await.Patience})
	defer other.Close()
	i := newInspector(t, bounded(t, other), Config{})
	topic := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4}
	began, release := make(chan struct{}), make(chan error)
	c := work(t, rdb, consumer.Config{}, topic, func(context.Context, *consumer.Delivery) error {
		began <- struct{}{}
		return <-release
	})
	send(t, rdb, topic, message.Priority{Content: "a", Priority: 17}, message.Priority{Content: "b", SlotBasis: "a", Priority: 18})
	<-began
	workers, err := i.Workers(ctx)
	if err != nil || len(workers) != 1 || workers[0].ID != c.Worker() {
		t.Errorf("%+v, %v", workers, err)
	}
	everySlot(t, assigned, workers, topic)
	if e := explain(t, i, topic.Name, "a"); e.Flight == nil && e.Waiting == nil {
		t.Errorf("%+v", e)
	}
	flying, err := each(i.Peek(ctx, topic.Name, InFlight, nil, 10))
	if sum, err2 := i.Stats(ctx, topic.Name); err != nil || err2 != nil || len(flying) != sum.InFlight || sum.InFlight+sum.Waiting != 2 {
		t.Errorf("%+v, %+v, %v, %v", flying, sum, err, err2)
	}
	release <- nil
	<-began
	release <- nil
}

// What the Redis user of an inspector needs, as doc.go tells it: to look, and no more.
func TestRights(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	admin := server.Client(t)
	topic := message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 4}
	work(t, admin, consumer.Config{}, topic, idle)
	send(t, admin, topic, message.FixedTime{Content: "a", At: time.Now().Add(time.Hour)})
	calls := func(user string, not ...any) []error {
		words := strings.Fields("acl setuser " + user + " on >x ~* +eval +evalsha +hget +hmget +hscan +sscan +time +zcard +zcount +zmscore +zrange +zrank +zscore")
		var rule []any
		for _, w := range words {
			rule = append(rule, w)
		}
		must.Do(t, admin.Do(ctx, append(rule, not...)...).Err())
		i := newInspector(t, server.Client(t, func(o *redis.Options) { o.Username, o.Password = user, "x" }), Config{})
		var errs [8]error
		_, errs[0] = i.Topics(ctx)
		_, errs[1] = i.Slots(ctx, topic.Name)
		_, errs[2] = i.Stats(ctx, topic.Name)
		_, errs[3] = i.Workers(ctx)
		_, errs[4] = each(i.Peek(ctx, topic.Name, Waiting, nil, 10))
		_, errs[5] = i.Explain(ctx, topic.Name, "a", "")
		_, errs[6] = i.Dead().Show(ctx, topic.Name, "a", "")
		_, errs[7] = i.Plans().List(ctx, topic.Name)
		return errs[:]
	}
	for n, err := range calls("look") {
		if err != nil {
			t.Errorf("call %d: %v", n, err)
		}
	}
	for _, right := range strings.Fields("-evalsha -hget -hmget -hscan -sscan -time -zcard -zcount -zrange -zrank -zscore resetkeys") {
		missed := 0
		for _, err := range calls("without-"+right, right) {
			if err != nil {
				missed++
				wantError(t, err, nil, fmt.Sprintf("grant Redis user %q", "without-"+right), "docs/DEPLOYMENT.md")
			}
		}
		if missed == 0 {
			t.Errorf("%s is not missed", right)
		}
	}
}

// And what it needs beside a worker's rights to do everything.
func TestRightsToChange(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	admin := server.Client(t)
	worker := strings.Fields("acl setuser all on >x ~* &rmq:wake{*} +del +eval +evalsha +exists +hdel +hget +hlen +hmget +hset +info +pexpire +ping +publish +sadd " +
		"+sismember +smembers +subscribe +time +zadd +zcard +zcount +zmscore +zrange +zrangebyscore +zrem +zremrangebyrank +zremrangebyscore +zrevrange +zscore") // as in docs/DEPLOYMENT.md
	var rule []any
	for _, w := range append(worker, "+hscan", "+sscan", "+type", "+zrank") {
		rule = append(rule, w)
	}
	must.Do(t, admin.Do(ctx, rule...).Err())
	i := newInspector(t, server.Client(t, func(o *redis.Options) { o.Username, o.Password = "all", "x" }), Config{})
	topic := define(t, admin, message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 1})
	k := protocol.KeysOf(topic.Name, 0)
	zadd(t, admin, k.Store, "a", time.Now().Add(time.Hour).UnixMilli())
	for _, content := range []string{"b", "c"} {
		zadd(t, admin, k.Dead, content, time.Now().Add(-time.Hour).UnixMilli())
		must.Do(t, admin.HSet(ctx, k.Why, content, "17 1767225604000 1767225621000 - w1 no").Err())
	}
	_, err := i.Reschedule(ctx, topic.Name, "a", "", Move{In: time.Minute})
	must.Do(t, err)
	_, _, err = i.Cancel(ctx, topic.Name, "a", "")
	must.Do(t, err)
	_, err = i.Plans().Set(ctx, topic.Name, message.Recurring{Name: "p", Content: "a", Cron: "@daily"})
	must.Do(t, err)
	if stopped, err := i.Plans().Stop(ctx, topic.Name, "p"); !stopped || err != nil {
		t.Errorf("%v, %v", stopped, err)
	}
	_, err = i.Pause(ctx, topic.Name, nil)
	must.Do(t, err)
	_, err = i.Resume(ctx, topic.Name, nil)
	must.Do(t, err)
	_, err = i.Dead().Requeue(ctx, topic.Name, DeadQuery{Limit: 1}, RequeueOptions{})
	must.Do(t, err)
	_, _, err = i.Dead().Delete(ctx, topic.Name, DeadQuery{}, nil)
	must.Do(t, err)
	broken, err := i.Verify(ctx, nil, nil)
	if err != nil || broken != nil {
		t.Errorf("%+v, %v", broken, err)
	}
	wantCheck(t, i.Doctor(ctx), "rights", doctor.OK)
}
