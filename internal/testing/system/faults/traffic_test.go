package faults

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/slots"
)

// ground is the Redis that the traffic runs on and that a test harms.
type ground struct {
	client   func() redis.UniversalClient // another one each time, as another process would have
	serverOf func(key string) string      // the address of the server that holds a key now
}

func onRedisCluster(t *testing.T, c *servertest.RedisCluster) ground {
	look := c.Client(t)
	return ground{
		client: func() redis.UniversalClient { return c.Client(t) },
		serverOf: func(key string) string {
			master, err := look.MasterForKey(context.Background(), key)
			must.Do(t, err)
			return master.Options().Addr
		},
	}
}

func onSentinel(t *testing.T, g *servertest.Sentinels) ground {
	return ground{
		client:   func() redis.UniversalClient { return g.Client(t) },
		serverOf: func(string) string { return "the master" },
	}
}

func onOneRedis(t *testing.T, s *servertest.Server) ground {
	return ground{
		client:   func() redis.UniversalClient { return s.Client(t) },
		serverOf: func(string) string { return s.Addr() },
	}
}

// errAsked is what the first delivery of some messages fails with.
var errAsked = errors.New("the message asks for it")

// How much is sent: on each server's slots one message after the other and small
// batches, and beside them batches to the slots of all servers. Modest, so that
// two processors carry several of it together with the servers and the race detector.
const (
	sendEvery  = 30 * time.Millisecond
	batchEvery = 180 * time.Millisecond
	batchSize  = 6
	trafficers = 2 // workers
)

// traffic keeps a topic of each kind busy, with a client that sends and two that
// work, and knows what became of each message. Some hundreds wait at any time,
// because FixedTime and RangeMerge messages are sent ahead of their time.
type traffic struct {
	t        *testing.T
	on       ground
	name     string // of the fault
	setting  string
	literal  bool
	sends    rmq.Durability
	senderOn func() redis.UniversalClient // nil: as the workers
	within   time.Duration                // how long a send of one message may take

	namespace string

	topics  []rmq.Topic
	shards  []*shard
	spots   []*spot
	at      map[string]*spot // by key of the store, without the namespace
	sender  *rmq.Client
	workers []*rmq.Client
	look    redis.UniversalClient // of the test itself
	sending sync.WaitGroup
	stopped chan struct{}
	once    sync.Once

	mu       sync.Mutex
	letters  map[string]*letter
	met      map[string]int // errors of Redis, by their first word, whoever met them
	refusals map[string]int // what refused sends were told
	unsure   []string       // what uncertain sends were told, and when
	faults   []string       // what must never be
	overlaps int            // handlers that began while another of their slot ran
	back     int            // deliveries of an older batch than the slot had seen
	slow     []*letter      // whose answer was late
	burnt    int            // deliveries that count more attempts than the handler has failed
	harmed   time.Time      // when the fault began
	hit      []*shard       // where
	ended    time.Time      // when sending ended
}

// shard is the slots of one server, as it was when the traffic began.
type shard struct {
	server string
	spots  []*spot
}

// spot is one slot of one topic.
type spot struct {
	topic rmq.Topic
	index int
	shard *shard
	bases []string

	running           int
	fence             int64
	accepted, handled []time.Time
}

// letter is one message.
type letter struct {
	fate     fate
	spot     *spot
	begun    time.Time // the send
	answered time.Time
	due      time.Time // not before; zero for those due at once
	fails    bool      // its first delivery is to fail
	failed   int
	ready    time.Time // accepted, and due
	handled  int
	first    time.Time // when it was handled first
}

// lateAnswer is how long an answer of a Cluster may take before the producer asks the other masters
// whether it counts, as docs/PROTOCOL.md promises. If they do not say so at once, it sends again.
const lateAnswer = 500 * time.Millisecond

// repeated tells whether the producer may have sent a message twice: its answer was late, or came
// in the company of one that was.
func (l *traffic) repeated(m *letter) bool {
	return slices.ContainsFunc(l.slow, func(s *letter) bool { return s.begun.Before(m.answered) && m.begun.Before(s.answered) })
}

type fate uint8

const (
	onItsWay fate = iota
	accepted
	notReplicated
	uncertain
	refused // for certain
)

// newTraffic prepares traffic that keeps to a namespace of its own; begin begins it.
func newTraffic(t *testing.T, on ground, name, setting string, adjust ...func(*traffic)) *traffic {
	t.Helper()
	l := &traffic{
		t: t, on: on, name: name, setting: setting, within: 5 * time.Second, look: on.client(), stopped: make(chan struct{}),
		at: map[string]*spot{}, letters: map[string]*letter{}, met: map[string]int{}, refusals: map[string]int{},
	}
	for _, f := range adjust {
		f(l)
	}
	// With the setting, so that the same fault may be tried under several on one server.
	l.namespace = strings.Map(func(r rune) rune {
		if strings.ContainsRune(" {}/:,", r) {
			return '-'
		}
		return r
	}, name+"-"+setting)
	byServer := map[string]*shard{}
	for _, kind := range []rmq.Kind{rmq.KindRangeMerge, rmq.KindPriority, rmq.KindFixedTime} {
		topic := rmq.Topic{Name: kind.String(), Kind: kind, Slots: 16, Literal: l.literal}
		l.topics = append(l.topics, topic)
		for i := range topic.Slots {
			server := on.serverOf(protocol.StoreKey(protocol.Qualify(l.namespace, topic.Name), i))
			if byServer[server] == nil {
				byServer[server] = &shard{server: server}
				l.shards = append(l.shards, byServer[server])
			}
			s := &spot{topic: topic, index: i, shard: byServer[server]}
			s.shard.spots = append(s.shard.spots, s)
			l.spots = append(l.spots, s)
			l.at[protocol.StoreKey(topic.Name, i)] = s
		}
		for k, found := 0, 0; found < 4*topic.Slots; k++ {
			basis := fmt.Sprint("b", k)
			if s := l.at[protocol.StoreKey(topic.Name, slots.Of(basis, topic.Slots))]; len(s.bases) < 4 {
				s.bases = append(s.bases, basis)
				found++
			}
		}
	}
	return l
}

// patient is for faults in which no send may fail, however busy the machine is.
func patient(l *traffic) { l.within, l.sends.Timeout = await.Patience, await.Patience }

func replicated(n int) func(*traffic) {
	return func(l *traffic) { l.sends = rmq.Durability{Replicas: n} }
}

func (l *traffic) newClient(rdb redis.UniversalClient) *rmq.Client {
	l.t.Helper()
	if c, ok := rdb.(*redis.ClusterClient); ok {
		c.OnNewNode(func(node *redis.Client) { node.AddHook(noticing{l}) })
	} else {
		rdb.AddHook(noticing{l})
	}
	c, err := rmq.New(rmq.Config{
		Redis: rdb, Namespace: l.namespace, Durability: l.sends, Backoff: rmq.Schedule(200 * time.Millisecond),
	})
	must.Do(l.t, err)
	l.t.Cleanup(func() {
		if err := c.Close(await.CleanupContext(l.t)); err != nil {
			l.t.Error(err)
		}
	})
	return c
}

// begin starts workers and senders and returns when messages flow everywhere.
func (l *traffic) begin() *traffic {
	l.t.Helper()
	l.t.Cleanup(l.stop)
	for range trafficers {
		l.work()
	}
	if l.senderOn == nil {
		l.senderOn = l.on.client
	}
	l.sender = l.newClient(l.senderOn())
	for _, s := range l.shards {
		l.send(s.spots, 1, sendEvery)
		l.send(s.spots, batchSize, batchEvery)
	}
	l.send(l.spots, batchSize, batchEvery)
	l.flows(30)
	return l
}

// work starts one more worker.
func (l *traffic) work() {
	l.t.Helper()
	w := l.newClient(l.on.client())
	for _, topic := range l.topics {
		must.Do(l.t, w.Listen(topic, rmq.ListenerFunc(l.handle), rmq.ListenOptions{}))
	}
	await.Nil(l.t, "start", func() error { return w.Start(context.Background()) }) // again where a busy server did not answer in time
	l.workers = append(l.workers, w)
}

// send has a goroutine send to some slots until the sending ends: so many at
// once, and so often, unless the one before has no answer yet.
func (l *traffic) send(to []*spot, size int, every time.Duration) {
	byTopic := map[string][]*spot{}
	for _, s := range to {
		byTopic[s.topic.Name] = append(byTopic[s.topic.Name], s)
	}
	l.sending.Go(func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 0; ; n++ {
			select {
			case <-l.stopped:
				return
			case <-tick.C:
			}
			topic := l.topics[n%len(l.topics)]
			if spots := byTopic[topic.Name]; len(spots) > 0 {
				l.sendTo(topic, spots, size)
			}
		}
	})
}

// sendTo sends some messages and notes their fates.
func (l *traffic) sendTo(topic rmq.Topic, to []*spot, size int) {
	ms, ids := make([]rmq.Message, size), make([]string, size)
	l.mu.Lock()
	for i := range ms {
		s := to[rand.N(len(to))]
		basis := s.bases[rand.N(len(s.bases))]
		id := fmt.Sprintf("%s/%d", basis, len(l.letters))
		now := time.Now()
		m := &letter{spot: s, begun: now, fails: rand.N(4) == 0}
		switch topic.Kind {
		case rmq.KindRangeMerge:
			r := time.Millisecond + rand.N(time.Second)
			m.due = now.Add(r)
			ms[i] = rmq.RangeMerge{Content: id, SlotBasis: basis, Range: r}
		case rmq.KindPriority:
			ms[i] = rmq.Priority{Content: id, SlotBasis: basis, Priority: 17 + rand.Int64N(1000)}
		case rmq.KindFixedTime:
			m.due = now.Add(500*time.Millisecond + rand.N(time.Second))
			ms[i] = rmq.FixedTime{Content: id, SlotBasis: basis, At: m.due}
		}
		l.letters[id], ids[i] = m, id
	}
	l.mu.Unlock()

	errs := make([]error, size)
	if size == 1 {
		// As users do it: nobody waits for ever.
		ctx, cancel := context.WithTimeout(context.Background(), l.within)
		defer cancel()
		_, errs[0] = l.sender.Send(ctx, topic, ms[0])
	} else {
		_, err := l.sender.SendBatch(context.Background(), topic, ms)
		var some *rmq.BatchError
		if errors.As(err, &some) {
			for i, index := range some.Indexes {
				errs[index] = some.Errs[i]
			}
		} else {
			for i := range errs {
				errs[i] = err
			}
		}
	}

	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, id := range ids {
		l.sent(id, errs[i], now)
	}
}

// sent notes what a send was told. l.mu is held.
func (l *traffic) sent(id string, err error, now time.Time) {
	m := l.letters[id]
	m.answered = now
	if now.Sub(m.begun) > lateAnswer {
		l.slow = append(l.slow, m)
	}
	switch {
	case err == nil:
		m.fate = accepted
		m.spot.accepted = append(m.spot.accepted, now)
	case errors.Is(err, rmq.ErrUncertain):
		m.fate = uncertain
		l.unsure = append(l.unsure, fmt.Sprintf("%s after %v: %v", id, rough(now.Sub(m.begun)), err))
	case errors.Is(err, rmq.ErrNotReplicated):
		m.fate = notReplicated
	default:
		m.fate = refused
		l.refusals[gist(err)]++
	}
	if m.ready = m.due; m.ready.Before(now) {
		m.ready = now
	}
}

// handle is the listener of all topics. It fails now and then, so that there are
// retries to lose, and takes long now and then, so that something is in flight
// whenever the fault comes.
func (l *traffic) handle(_ context.Context, d *rmq.Delivery) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	now, s, m := time.Now(), l.at[protocol.StoreKey(d.Topic.Name, d.Slot)], l.letters[d.Content]
	switch {
	case m == nil:
		l.fault("%q was never sent", d.Content)
		return nil
	case m.spot != s:
		l.fault("%q came in slot %d of %s", d.Content, d.Slot, d.Topic.Name)
	case d.Topic.Kind == rmq.KindFixedTime && now.Before(m.due.Add(-100*time.Millisecond)): // clocks are set now and then
		l.fault("%q came %v early", d.Content, m.due.Sub(now))
	}
	if d.Attempt > m.failed+1 {
		l.burnt++
	}
	if s.running++; s.running > 1 {
		l.overlaps++
	}
	if d.Fence < s.fence {
		l.back++
	}
	s.fence = max(s.fence, d.Fence)

	l.mu.Unlock()
	if rand.N(50) == 0 {
		long := time.NewTimer(20 * time.Millisecond)
		<-long.C
	}
	l.mu.Lock()

	s.running--
	if m.fails && m.failed == 0 {
		m.failed++
		return errAsked
	}
	if m.handled++; m.handled == 1 {
		m.first = now
		s.handled = append(s.handled, now)
	}
	return nil
}

// fault notes what must never be. l.mu is held.
func (l *traffic) fault(format string, args ...any) {
	const most = 20
	if len(l.faults) < most {
		l.faults = append(l.faults, fmt.Sprintf(format, args...))
	}
}
