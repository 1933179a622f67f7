package rmq_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/hash"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/slots"
)

// onEachWay runs a test on one Redis, on a Cluster, and with ZooKeeper.
func onEachWay(t *testing.T, test func(t *testing.T, rdb redis.UniversalClient, cfg rmq.Config)) {
	onOneAndMany(t, func(t *testing.T, rdb redis.UniversalClient) {
		test(t, rdb, rmq.Config{Redis: rdb, Lease: 2 * time.Second})
	})
	t.Run("ZooKeeper", func(t *testing.T) {
		t.Parallel()
		rdb, zoo := servertest.Redis(t).Client(t), servertest.SharedZooKeeper(t)
		test(t, rdb, rmq.Config{Redis: rdb, Slots: slots.ZooKeeper(slots.ZooKeeperConfig{
			Servers: zoo.Servers(), Root: "/" + strings.ReplaceAll(t.Name(), "/", "-"), SessionTimeout: 30 * time.Second, // which a busy machine does not end
		})})
	})
}

// nextDeath is the one that is reported next.
func nextDeath(t *testing.T, reported <-chan rmq.Death) rmq.Death {
	t.Helper()
	return await.Signal(t, "a death is reported", reported)
}

// begin starts a client, which is closed with the test.
func begin(t *testing.T, client *rmq.Client) {
	t.Helper()
	await.Nil(t, "start", func() error { return client.Start(context.Background()) }) // again where a busy server did not answer in time
}

// inFlightAtADeadWorker puts a message into the batch of a worker that is no more.
func inFlightAtADeadWorker(t *testing.T, rdb redis.UniversalClient, topic rmq.Topic, content string, retriesLeft int, lease time.Duration) {
	t.Helper()
	ctx, now := context.Background(), time.Now()
	k := protocol.KeysOf(topic.Name, hash.Slot(content, topic.Slots))
	pipe := rdb.TxPipeline()
	pipe.ZAdd(ctx, k.Prepare, redis.Z{Score: float64(now.Unix()*1000 + int64(retriesLeft)), Member: content})
	pipe.HSet(ctx, k.Meta, "holder", "gone-1", "batch", now.UnixMicro()-1, "until", now.Add(-time.Second).UnixMilli(), "lease", lease.Milliseconds())
	if _, err := pipe.Exec(ctx); err != nil {
		t.Fatal(err)
	}
}

// Each death is reported: by the last failure, by the verdict of the handler, by a worker that
// died with the message, and once more after a requeue.
func TestDeathsAreReported(t *testing.T) {
	t.Parallel()
	onEachWay(t, func(t *testing.T, rdb redis.UniversalClient, cfg rmq.Config) {
		ctx := context.Background()
		cfg.Backoff, cfg.MaxAttempts, cfg.SafetyLook = rmq.Schedule(time.Millisecond), 3, time.Hour
		client := opened(t, cfg)
		jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority, Slots: 4}
		reported := make(chan rmq.Death, 100)
		if err := client.Listen(jobs, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
			if strings.HasPrefix(d.Content, "hopeless") {
				return rmq.Dead(errors.New("no such shop"))
			}
			return errors.New("the shop timed out")
		}), rmq.ListenOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := client.ListenDead(jobs, func(_ context.Context, d *rmq.Death) error {
			reported <- *d
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		send := func(content string) {
			t.Helper()
			if _, err := client.Send(ctx, jobs, rmq.Priority{Content: content, Priority: 70}); err != nil {
				t.Fatal(err)
			}
		}
		send("before anything listens") // dead a moment after the start, like those that follow
		taken := "taken over"           // in another slot, where nothing else happens
		for hash.Slot(taken, 4) == hash.Slot("before anything listens", 4) {
			taken += "!"
		}
		inFlightAtADeadWorker(t, rdb, jobs, taken, 0, cfg.Lease)
		begin(t, client)
		seen := map[string]rmq.Death{}
		for len(seen) < 2 {
			d := nextDeath(t, reported)
			seen[d.Content] = d
		}
		if d := seen[taken]; d.Attempts != 17 || d.Worker != "gone-1" || !strings.Contains(d.Reason, "its worker") || d.At.IsZero() {
			t.Errorf("%+v", d)
		}
		if d := seen["before anything listens"]; d.Attempts != 3 || d.Reason != "the shop timed out" || d.Priority != 70 || d.Topic != jobs || !strings.HasPrefix(d.Worker, client.Worker()) {
			t.Errorf("%+v", d)
		}
		send("hopeless")
		first := nextDeath(t, reported)
		if first.Content != "hopeless" || first.Attempts != 1 || first.Reason != "no such shop" || first.FirstFailure.After(first.At) {
			t.Errorf("%+v", first)
		}
		i, err := inspector.New(rdb, inspector.Config{})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := i.Dead().Requeue(ctx, "jobs", inspector.DeadQuery{Content: func(x string) bool { return x == "hopeless" }}, inspector.RequeueOptions{}); err != nil || n.Stored != 1 {
			t.Fatal(n, err)
		}
		if again := nextDeath(t, reported); again.Content != "hopeless" || !again.At.After(first.At) {
			t.Errorf("%+v, then %+v", first, again)
		}
		select {
		case d := <-reported:
			t.Errorf("reported once more: %+v", d)
		default:
		}
	})
}

// Those that were dead before a worker listened to the dead are reported, once.
func TestDeathsOfBeforeAreReported(t *testing.T) {
	t.Parallel()
	onOneAndMany(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx := context.Background()
		jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindFixedTime, Slots: 8}
		died := time.Now().Add(-time.Hour)
		var want []string
		for n := range 100 {
			content := fmt.Sprintf("job %d", n)
			want = append(want, content)
			k := protocol.KeysOf("jobs", hash.Slot(content, 8))
			must.Do(t, rdb.ZAdd(ctx, k.Dead, redis.Z{Score: float64(died.UnixMilli() + int64(n/20)), Member: content}).Err())
		}
		for range 2 { // to the second worker, nothing
			var mu sync.Mutex
			var got []string
			all := make(chan struct{})
			client := opened(t, rmq.Config{Redis: rdb, SafetyLook: time.Hour})
			must.Do(t, client.Listen(jobs, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return rmq.Dead(nil) }), rmq.ListenOptions{}))
			must.Do(t, client.ListenDead(jobs, func(_ context.Context, d *rmq.Death) error {
				mu.Lock()
				defer mu.Unlock()
				got = append(got, d.Content)
				if d.Content == "last" {
					close(all)
				}
				return nil
			}))
			begin(t, client)
			_, err := client.Send(ctx, jobs, rmq.FixedTime{Content: "last", In: time.Millisecond})
			must.Do(t, err)
			await.Signal(t, "the last death is reported", all)
			awaitReported(t, rdb, jobs)
			must.Do(t, client.Close(ctx))
			for _, x := range append(slices.Clone(want), "last") {
				if n := count(got, x); n != 1 {
					t.Errorf("%s was reported %d times", x, n)
				}
			}
			want = nil
		}
	})
}

func count(all []string, x string) (n int) {
	for _, y := range all {
		if x == y {
			n++
		}
	}
	return n
}

// awaitReported waits until it is noted of each slot that all its deaths were reported.
func awaitReported(t *testing.T, rdb redis.UniversalClient, topic rmq.Topic) {
	t.Helper()
	ctx := context.Background()
	await.True(t, "all deaths are reported", func() bool {
		for slot := range topic.Slots {
			k := protocol.KeysOf(topic.Name, slot)
			up, _, _ := strings.Cut(rdb.HGet(ctx, k.Meta, "mourned").Val(), " ")
			if up == "" {
				up = "0"
			}
			if rdb.ZCount(ctx, k.Dead, "("+up, "+inf").Val() > 0 {
				return false
			}
		}
		return true
	})
}

// A death that cannot be reported is reported again, and holds up neither messages nor other
// slots.
func TestDeathsAreReportedAgain(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	client := opened(t, rmq.Config{Redis: rdb})
	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority, Slots: 4}
	handled, reported := make(chan string, 100), make(chan rmq.Death, 100)
	must.Do(t, client.Listen(jobs, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		if strings.HasPrefix(d.Content, "fine") {
			handled <- d.Content
			return nil
		}
		return rmq.Dead(errors.New("no"))
	}), rmq.ListenOptions{}))
	heal := make(chan struct{})
	tries := make(chan struct{}, 100)
	must.Do(t, client.ListenDead(jobs, func(_ context.Context, d *rmq.Death) error {
		if d.Content == "bad" || d.Content == "worse" {
			select {
			case <-heal:
			default:
				tries <- struct{}{}
				if d.Content == "worse" {
					panic("the pager is away")
				}
				return errors.New("the pager is away")
			}
		}
		reported <- *d
		return nil
	}))
	begin(t, client)
	send := func(content, basis string) {
		t.Helper()
		_, err := client.Send(context.Background(), jobs, rmq.Priority{Content: content, SlotBasis: basis, Priority: 20})
		must.Do(t, err)
	}
	send("bad", "a")
	await.Signal(t, "a report is tried", tries)
	send("fine in the same slot", "a")
	await.Signal(t, "it is handled", handled)
	other := "b"
	for hash.Slot(other, 4) == hash.Slot("a", 4) {
		other += "b"
	}
	send("in another slot", other)
	if d := nextDeath(t, reported); d.Content != "in another slot" {
		t.Errorf("%+v", d)
	}
	third := other
	for hash.Slot(third, 4) == hash.Slot("a", 4) || hash.Slot(third, 4) == hash.Slot(other, 4) {
		third += "c"
	}
	send("worse", third)
	await.Signal(t, "a report is tried", tries)
	close(heal)
	var rest []string
	for range 2 {
		rest = append(rest, nextDeath(t, reported).Content)
	}
	slices.Sort(rest)
	if !slices.Equal(rest, []string{"bad", "worse"}) {
		t.Errorf("%q", rest)
	}
}

// Close waits for a death that is being reported, until its context ends.
func TestCloseWaitsForDeaths(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority, Slots: 1}
	for _, patient := range []bool{true, false} {
		client := opened(t, rmq.Config{Redis: rdb})
		must.Do(t, client.Listen(jobs, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return rmq.Dead(nil) }), rmq.ListenOptions{}))
		calls, goOn, cause := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		must.Do(t, client.ListenDead(jobs, func(ctx context.Context, d *rmq.Death) error {
			close(calls)
			select {
			case <-goOn:
			case <-ctx.Done():
			}
			cause <- context.Cause(ctx)
			return context.Cause(ctx)
		}))
		begin(t, client)
		content := fmt.Sprint("patient ", patient)
		_, err := client.Send(context.Background(), jobs, rmq.Priority{Content: content, Priority: 20})
		must.Do(t, err)
		await.Signal(t, "a death is being reported", calls)
		within, cancel := context.WithCancel(context.Background())
		closed := make(chan error, 1)
		go func() { closed <- client.Close(within) }()
		if patient {
			close(goOn)
		} else {
			cancel()
		}
		if err := await.Signal(t, "the report has ended", cause); patient != (err == nil) || !patient && !errors.Is(err, rmq.ErrClosing) {
			t.Errorf("patient %v: %v", patient, err)
		}
		if err := await.Signal(t, "Close returns", closed); patient { // else Redis may have had no time to answer
			must.Do(t, err)
		}
		cancel()
		up, _, _ := strings.Cut(rdb.HGet(context.Background(), protocol.KeysOf("jobs", 0).Meta, "mourned").Val(), " ")
		if died := rdb.ZScore(context.Background(), protocol.KeysOf("jobs", 0).Dead, content).Val(); patient != (up == fmt.Sprintf("%.0f", died)) {
			t.Errorf("patient %v: reported up to %s, and it died at %.0f", patient, up, died)
		}
	}
}

// What a listener to the dead cannot be.
func TestBadListenersToTheDead(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	client := opened(t, rmq.Config{Redis: rdb})
	f := func(context.Context, *rmq.Death) error { return nil }
	jobs := rmq.Topic{Name: "bad-deaths", Kind: rmq.KindPriority}
	nothing := rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return nil })
	if err := client.ListenDead(jobs, nil); err == nil {
		t.Error("nil")
	}
	if err := client.ListenDead(rmq.Topic{Name: "x"}, f); !errors.Is(err, rmq.ErrInvalid) {
		t.Error(err)
	}
	if err := client.Listen(jobs, nothing, rmq.ListenOptions{DeadTopic: jobs}); !errors.Is(err, rmq.ErrInvalid) || !strings.Contains(err.Error(), "DeadTopic") {
		t.Error(err)
	}
	if err := client.Listen(jobs, nothing, rmq.ListenOptions{DeadTopic: rmq.Topic{Name: "{"}}); !errors.Is(err, rmq.ErrInvalid) {
		t.Error(err)
	}
	must.Do(t, client.ListenDead(jobs, f))
	if err := client.ListenDead(jobs, f); err == nil {
		t.Error("twice")
	}
	must.Do(t, client.Listen(rmq.Topic{Name: "bad-deaths-2", Kind: rmq.KindPriority}, nothing, rmq.ListenOptions{}))
	if err := client.Start(context.Background()); err == nil || !strings.Contains(err.Error(), "bad-deaths has a listener for its dead and none for its messages") {
		t.Error(err)
	}
}

// Dead messages are sent to another topic, of whatever kind, and stay.
func TestDeadTopic(t *testing.T) {
	t.Parallel()
	onOneAndMany(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx := context.Background()
		for _, kind := range []rmq.Kind{rmq.KindPriority, rmq.KindFixedTime, rmq.KindRangeMerge} {
			client := opened(t, rmq.Config{Redis: rdb, RefusePast: true})
			jobs := rmq.Topic{Name: "jobs-" + kind.String(), Kind: rmq.KindPriority, Slots: 2}
			buried := rmq.Topic{Name: jobs.Name + "-dead", Kind: kind, Slots: 2}
			got := make(chan rmq.Delivery, 10)
			o := rmq.ListenOptions{DeadTopic: buried}
			if kind == rmq.KindPriority {
				must.Do(t, client.ListenBatch(jobs, rmq.BatchFunc(func(context.Context, *rmq.Batch) error { return rmq.Dead(nil) }), rmq.BatchOptions{ListenOptions: o}))
			} else {
				must.Do(t, client.Listen(jobs, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return rmq.Dead(nil) }), o))
			}
			must.Do(t, client.Listen(buried, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error { got <- *d; return nil }), rmq.ListenOptions{}))
			begin(t, client)
			_, err := client.Send(ctx, jobs, rmq.Priority{Content: "m", Priority: 90})
			must.Do(t, err)
			if d := await.Signal(t, "it is in the other topic", got); d.Content != "m" || kind == rmq.KindPriority && d.Priority != 90 {
				t.Errorf("%v: %+v", kind, d)
			}
			k := protocol.KeysOf(jobs.Name, hash.Slot("m", 2))
			if n := rdb.ZCard(ctx, k.Dead).Val(); n != 1 {
				t.Errorf("%v: %d dead", kind, n)
			}
			must.Do(t, client.Close(ctx))
		}
	})
}

// The rights of a worker are enough, and nothing is refused.
func TestDeathsWithDocumentedRights(t *testing.T) {
	t.Parallel()
	server, user := servertest.Redis(t), documented(t, "worker")
	user.grant(t, server.Client(t))
	client := opened(t, rmq.Config{Redis: server.Client(t, user.login)})
	orders, reported := rmq.Topic{Name: "orders", Kind: rmq.KindPriority}, make(chan rmq.Death, 1)
	must.Do(t, client.Listen(orders, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return rmq.Dead(nil) }), rmq.ListenOptions{}))
	must.Do(t, client.ListenDead(orders, func(_ context.Context, d *rmq.Death) error { reported <- *d; return nil }))
	begin(t, client)
	_, err := client.Send(context.Background(), orders, rmq.Priority{Content: "x", Priority: 20})
	must.Do(t, err)
	nextDeath(t, reported)
	must.Do(t, client.Close(context.Background()))
	neverRefused(t, server.Client(t))
}

// deathLooks counts what is asked about the dead.
type deathLooks struct{ commands, slots, scripts atomic.Int64 }

func (l *deathLooks) count(cmd redis.Cmder) {
	args := cmd.Args()
	switch {
	case args[0] == "exists" && strings.HasPrefix(args[1].(string), "dead{"):
		l.commands.Add(1)
		l.slots.Add(int64(len(args) - 1))
	case args[0] == "evalsha" && len(args) > 3 && strings.HasPrefix(fmt.Sprint(args[3]), "dead{"):
		l.scripts.Add(1)
	}
}

func (l *deathLooks) DialHook(next redis.DialHook) redis.DialHook { return next }

func (l *deathLooks) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		l.count(cmd)
		return next(ctx, cmd)
	}
}

func (l *deathLooks) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			l.count(cmd)
		}
		return next(ctx, cmds)
	}
}

// Where nothing is dead, a look costs one command for 32 slots, and no script runs.
func TestLooksForDeathsAreCheap(t *testing.T) {
	t.Parallel()
	rdb, looks := servertest.Redis(t).Client(t), new(deathLooks)
	rdb.AddHook(looks)
	client := opened(t, rmq.Config{Redis: rdb, SafetyLook: 20 * time.Millisecond})
	idle := rmq.Topic{Name: "idle", Kind: rmq.KindPriority, Slots: 64}
	must.Do(t, client.Listen(idle, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return nil }), rmq.ListenOptions{}))
	must.Do(t, client.ListenDead(idle, func(context.Context, *rmq.Death) error { return nil }))
	begin(t, client)
	await.True(t, "it has looked ten times", func() bool { return looks.slots.Load() >= 640 })
	must.Do(t, client.Close(context.Background()))
	if commands, slots := looks.commands.Load(), looks.slots.Load(); slots != 32*commands || looks.scripts.Load() > 0 {
		t.Errorf("%d slots by %d commands, and %d scripts", slots, commands, looks.scripts.Load())
	}
}
