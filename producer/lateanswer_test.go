package producer

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	clusterinfo "github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// A master stands still with sends under way until its replica has taken over. When
// it goes on it acknowledges them, and the next ones, before it hears of that; then it
// throws them away. None of those counts: what was acknowledged is there.
func TestAnswersOfAMasterThatWasAway(t *testing.T) {
	t.Parallel()
	topic := message.Topic{Name: "away", Kind: message.KindPriority, Slots: 1}
	key := protocol.StoreKey(topic.Name, 0)
	// Answers are waited for as long as it takes: the late ones are what counts here.
	t.Run("cluster", func(t *testing.T) {
		t.Parallel()
		cluster := servertest.Cluster(t, 3, 1)
		rdb := cluster.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout = time.Minute })
		master := func() *servertest.Server { return cluster.MasterOf(t, key) }
		answersOfAMasterThatWasAway(t, rdb, topic, master, func() { cluster.AwaitReady(t) })
	})
	// Behind Sentinels the client itself drops its connections to the old master when it
	// hears of the new one, and so nothing that comes late.
	t.Run("sentinel", func(t *testing.T) {
		t.Parallel()
		group := servertest.Sentinel(t)
		rdb := group.Client(t, func(o *redis.FailoverOptions) { o.ReadTimeout = time.Minute })
		master := func() *servertest.Server { return group.Master(t) }
		answersOfAMasterThatWasAway(t, rdb, topic, master, func() { group.AwaitReady(t) })
	})
}

// answersOfAMasterThatWasAway tries it; master waits for one that answers, and ready for the
// old one to be a replica.
func answersOfAMasterThatWasAway(t *testing.T, rdb redis.UniversalClient, topic message.Topic, master func() *servertest.Server, ready func()) {
	p := newProducer(t, rdb, Config{})
	mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})
	p.idle.Wait()

	var mu sync.Mutex
	var acknowledged []string
	uncertain, other := 0, error(nil)
	var all sync.WaitGroup
	send := func(content string) {
		_, err := p.Send(ctx, topic, message.Priority{Content: content, Priority: 17})
		mu.Lock()
		defer mu.Unlock()
		switch {
		case err == nil:
			acknowledged = append(acknowledged, content)
		case errors.Is(err, ErrUncertain):
			uncertain++
		default:
			other = err
		}
	}
	hung := master()
	hung.Pause()
	for sender := range 8 {
		all.Go(func() {
			for n := range 20 {
				send(fmt.Sprint(sender, "/", n))
			}
		})
	}
	if master() == hung { // waits for the promotion
		t.Fatal("no replica has taken over")
	}
	hung.Resume()
	all.Wait()
	ready()
	got := map[string]bool{}
	for _, content := range rdb.ZRange(ctx, protocol.StoreKey(topic.Name, 0), 0, -1).Val() {
		got[content] = true
	}
	lost := 0
	for _, content := range acknowledged {
		if !got[content] {
			lost++
		}
	}
	t.Logf("%d acknowledged, %d uncertain", len(acknowledged), uncertain)
	if lost > 0 || other != nil {
		t.Errorf("%d of %d acknowledged are lost; %v", lost, len(acknowledged), other)
	}
	if len(acknowledged) == 0 {
		t.Error("nothing was acknowledged")
	}
}

// undecided is a master that has stood still for so long that the others call it failed, and has stored a message since it
// goes on, before a replica takes its place; none does until it may.
type undecided struct {
	cluster *servertest.RedisCluster
	*Producer
	key  string
	hung *servertest.Server
	sent chan error // the message
}

func newUndecided(t *testing.T, waits time.Duration) *undecided {
	t.Helper()
	u := &undecided{cluster: servertest.Cluster(t, 3, 1, "--cluster-replica-no-failover", "yes", "--cluster-node-timeout", "2000"), sent: make(chan error, 1)}
	rdb := u.cluster.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout = time.Minute })
	topic := message.Topic{Name: "away", Kind: message.KindPriority, Slots: 1}
	u.Producer, u.key = newProducer(t, rdb, Config{}), protocol.StoreKey(topic.Name, 0)
	u.sendTimeout, u.retryFor, u.executor.doubts.waits = 0, await.Patience, waits
	mustSend(t, u.Producer, topic, message.Priority{Content: "first", Priority: 17})
	u.idle.Wait()
	u.hung = u.cluster.MasterOf(t, u.key)
	u.hung.Pause()
	go func() {
		_, err := u.Send(ctx, topic, message.Priority{Content: "late", Priority: 17})
		u.sent <- err
	}()
	await.True(t, "the others call it failed", func() bool { return u.standing() == clusterinfo.Failing })
	for _, s := range u.cluster.Nodes() {
		if s != u.hung { // so they call it failed for two minutes
			must.Do(t, s.Client(t).ConfigSet(ctx, "cluster-node-timeout", "60000").Err())
		}
	}
	u.hung.Resume()
	await.True(t, "it has stored the message", func() bool { return u.hung.Client(t).ZCard(ctx, u.key).Val() == 2 })
	return u
}

func (u *undecided) standing() clusterinfo.Standing {
	return clusterinfo.StandingOf(ctx, u.rdb, u.hung.Addr(), u.key)
}

// What a master answers that may be replaced does not count until the outcome is known: a replica that is elected may not have it.
func TestAnswersBeforeAnElection(t *testing.T) {
	t.Parallel()
	u := newUndecided(t, time.Hour)
	for _, s := range u.cluster.Nodes() {
		must.Do(t, s.Client(t).ConfigSet(ctx, "cluster-replica-no-failover", "no").Err())
	}
	must.Do(t, await.Signal(t, "an answer", u.sent))
	if u.cluster.MasterOf(t, u.key) == u.hung {
		t.Error("its answer counts, while a replica may take its place")
	}
	if err := u.rdb.ZScore(ctx, u.key, "late").Err(); err != nil {
		t.Errorf("what was acknowledged is not there: %v", err)
	}
}

// If none is elected, it counts after a while, counted from its first answer.
func TestAnswersWithoutAnElection(t *testing.T) {
	t.Parallel()
	begun, waits := time.Now(), 300*time.Millisecond
	u := newUndecided(t, waits)
	must.Do(t, await.Signal(t, "an answer", u.sent))
	if took := time.Since(begun); u.standing() != clusterinfo.Failing || took < waits {
		t.Errorf("its answer counts after %v, and it is %d", took, u.standing())
	}
}

// If the producer is closed at the same time, it is not known whether the message is
// stored.
func TestCloseBeforeAnElection(t *testing.T) {
	t.Parallel()
	u := newUndecided(t, time.Hour)
	over, cancel := context.WithCancel(ctx)
	cancel()
	_ = u.Close(over)
	if err := await.Signal(t, "an answer", u.sent); !errors.Is(err, ErrUncertain) {
		t.Errorf("closed while its answer was in doubt: %v", err)
	}
}

// The time counts from the first answer. It does not begin anew with each that is slow, but does when there is none.
func TestDoubtsCountFromTheFirstAnswer(t *testing.T) {
	t.Parallel()
	d := newDoubts()
	d.raise("a")
	first := d.answered("a")
	d.raise("a")
	if again := d.answered("a"); again != first {
		t.Errorf("until %v, and then until %v", first, again)
	}
	d.silent("a")
	if again := d.answered("a"); !again.After(first) {
		t.Error("it did not answer, and the time did not begin anew")
	}
}

// A master that has not answered for a while is doubted, also while it does not answer, so
// that a quick answer that comes right after a late one must be confirmed, too. Confirmed
// once, it is trusted again.
func TestDoubts(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 3, 0)
	rdb := cluster.Client(t, func(o *redis.ClusterOptions) { o.ReadTimeout = time.Minute })
	p, topic := newProducer(t, rdb, Config{}), message.Topic{Name: "doubts", Kind: message.KindPriority, Slots: 1}
	master := cluster.MasterOf(t, protocol.StoreKey(topic.Name, 0))
	p.executor.doubts.raise(master.Addr())
	mustSend(t, p, topic, message.Priority{Content: "quick", Priority: 17})
	if p.executor.doubts.any(master.Addr()) {
		t.Error("its quick answer was taken without a question, or it is not trusted though it was confirmed")
	}
	master.Pause()
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_, _ = p.Send(ctx, topic, message.Priority{Content: "late", Priority: 17})
	}()
	await.True(t, "it is doubted", func() bool {
		select {
		case <-answered:
			t.Fatal("it was never doubted")
		default:
		}
		return p.executor.doubts.any(master.Addr())
	})
	master.Resume()
	<-answered
}

// A server is confirmed, too, while the hash slot of what it was sent is still on its way to it.
func TestDoubtsWhileAHashSlotMoves(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 3, 0)
	p, topic := newProducer(t, cluster.Client(t), Config{}), message.Topic{Name: "doubts", Kind: message.KindPriority, Slots: 1}
	mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})
	p.idle.Wait()
	move := cluster.Migrate(t, protocol.StoreKey(topic.Name, 0))
	move.MoveKeys(t, 1)
	p.executor.doubts.raise(move.To.Addr())
	mustSend(t, p, topic, message.Priority{Content: "follows it", Priority: 17})
	move.Finish(t)
}

// A client may spread the keys over servers that are no Cluster. One that was slow is
// trusted: none of the others takes its place.
func TestSlowServerThatIsNoClusters(t *testing.T) {
	t.Parallel()
	a, b := servertest.Redis(t), servertest.Redis(t)
	rdb := redis.NewClusterClient(&redis.ClusterOptions{ClusterSlots: func(context.Context) ([]redis.ClusterSlot, error) {
		return []redis.ClusterSlot{
			{Start: 0, End: 8191, Nodes: []redis.ClusterNode{{Addr: a.Addr()}}},
			{Start: 8192, End: 16383, Nodes: []redis.ClusterNode{{Addr: b.Addr()}}},
		}, nil
	}})
	t.Cleanup(func() { rdb.Close() })
	p, topic := newProducer(t, rdb, Config{}), message.Topic{Name: "apart", Kind: message.KindPriority, Slots: 1}
	mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})
	one, err := rdb.MasterForKey(ctx, protocol.StoreKey(topic.Name, 0))
	if err != nil {
		t.Fatal(err)
	}
	if err := one.ClientPause(ctx, slowAnswer+200*time.Millisecond).Err(); err != nil {
		t.Fatal(err)
	}
	for i := range 2 {
		mustSend(t, p, topic, message.Priority{Content: fmt.Sprint(i), Priority: 17})
	}
}
