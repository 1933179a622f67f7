package producer

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// A wake-up that no worker gets at the master of its slots goes to all masters. If a worker gets it
// there, nothing is published to the others.
func TestWakeUpsStayAtTheirMaster(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 3, 0)
	topic := message.Topic{Name: "wide", Kind: message.KindPriority, Slots: 16}
	heard := widelyHeard(t, cluster, topic)
	sendToAll(t, cluster, topic)
	await.True(t, "a wake-up for each slot", heard.all)
	all := calls(t, cluster, "publish")

	lowest := map[*servertest.Server]int{}
	for slot := range topic.Slots {
		master := cluster.MasterOf(t, protocol.StoreKey(topic.Name, slot))
		if _, ok := lowest[master]; !ok {
			lowest[master] = slot
		}
	}
	if len(lowest) != 3 {
		t.Fatalf("the topic is on %d masters", len(lowest))
	}
	heard = &heardSlots{of: topic, slots: map[int]bool{}}
	for master, slot := range lowest {
		sub := master.Client(t).SSubscribe(ctx, protocol.NearChannel(topic.Name, slot))
		if _, err := sub.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		heard.listen(t, sub)
	}
	sendToAll(t, cluster, topic)
	await.True(t, "a wake-up for each slot", heard.all)
	if now := calls(t, cluster, "publish"); now != all {
		t.Errorf("published to all masters %d times more", now-all)
	}
}

// For a while after it was not heard at one master a writer publishes to all at once.
func TestWakeUpsThatNobodyHears(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 1, 0)
	p, topic := newProducer(t, cluster.Client(t), Config{}), message.Topic{Name: "wide", Kind: message.KindPriority, Slots: 1}
	at := time.Now().UnixMilli()
	send := func() {
		mustSend(t, p, topic, message.Priority{Content: "a", Priority: at})
		p.idle.Wait()
	}
	send()
	known := (*p.topics.known.Load())[topic]
	if len(p.writers.all) != 1 {
		t.Fatalf("%d writers", len(p.writers.all))
	}
	for _, to := range p.writers.all {
		unheard := time.Until(to.near[known].widely)
		if unheard > 100*time.Millisecond {
			t.Errorf("it goes on for %v", unheard)
		}
		for i, until := range []time.Time{time.Now().Add(time.Hour), {}} {
			to.near[known] = near{slot: 0, widely: until}
			before, all := calls(t, cluster, "spublish"), calls(t, cluster, "publish")
			send()
			if n, m := calls(t, cluster, "spublish")-before, calls(t, cluster, "publish")-all; n < i || i == 0 && n > 0 || m != 1 {
				t.Errorf("until %v: published %d times at the one master, %d times to all", until, n, m)
			}
		}
	}
}

// When slots of a topic move, the workers may see it later than the producer: for a minute it publishes to
// all masters, also to one that had no slot of the topic before.
func TestWakeUpsAfterSlotsHaveMoved(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 2, 0)
	p := newProducer(t, cluster.Client(t), Config{})
	for _, topic := range []message.Topic{{Name: "wide", Kind: message.KindPriority, Slots: 16}, {Name: "narrow", Kind: message.KindPriority, Slots: 1}} {
		basis := map[int]string{}
		for i := 0; len(basis) < topic.Slots; i++ {
			basis[slotOf(topic, i)] = strconv.Itoa(i)
		}
		sendTo := func(slot int) {
			mustSend(t, p, topic, message.Priority{Content: "a", SlotBasis: basis[slot], Priority: time.Now().UnixMilli()})
			p.idle.Wait()
		}
		for slot := range topic.Slots {
			sendTo(slot)
		}
		known := (*p.topics.known.Load())[topic]
		move := func() {
			last := known.slots[0].writer.Load()
			cluster.Migrate(t, protocol.StoreKey(topic.Name, 0)).Finish(t)
			await.True(t, "the producer has learnt where slot 0 is", func() bool {
				sendTo(0) // which is sent on at first
				return known.slots[0].writer.Load() != last
			})
		}
		if topic.Slots == 1 { // first there, and then back to a master that knows all of it
			move()
			known.widely.Store(0)
		}
		last := known.slots[0].writer.Load() // of slot 0, the lowest of its master
		now := time.Now()
		if slot, _ := known.nearest(last, now); slot != 0 {
			t.Fatalf("the lowest slot is %d", slot)
		}
		move()
		for at, to := range p.writers.all {
			known.nearest(to, now) // if it did not publish since
			if slot, near := known.nearest(to, now.Add(59*time.Second)); near {
				t.Errorf("%s, %v: after 59 s wake-ups go to one master, on the channel of slot %d", topic.Name, at, slot)
			}
			_, there := known.lowestAt(to)
			if _, near := known.nearest(to, time.Now().Add(time.Minute+time.Second)); near != there {
				t.Errorf("%s, %v: after a minute they go to one master: %v", topic.Name, at, near)
			}
		}
	}
}

// Servers that do not know SPUBLISH pass wake-ups on as ever.
func TestWakeUpsOfOldServersGoToAllMasters(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 2, 0, "--rename-command", "SPUBLISH", "")
	topic := message.Topic{Name: "wide", Kind: message.KindPriority, Slots: 16}
	heard := widelyHeard(t, cluster, topic)
	sendToAll(t, cluster, topic)
	await.True(t, "a wake-up for each slot", heard.all)
}

// heardSlots notes for which slots of a topic there was a wake-up.
type heardSlots struct {
	of    message.Topic
	mu    sync.Mutex
	slots map[int]bool
}

// widelyHeard are those that go to all masters.
func widelyHeard(t *testing.T, cluster *servertest.RedisCluster, topic message.Topic) *heardSlots {
	t.Helper()
	heard := &heardSlots{of: topic, slots: map[int]bool{}}
	sub := cluster.Nodes()[0].Client(t).Subscribe(ctx, protocol.WakeChannel(topic.Name))
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	heard.listen(t, sub)
	return heard
}

func (h *heardSlots) all() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.slots) == h.of.Slots
}

func (h *heardSlots) listen(t *testing.T, sub *redis.PubSub) {
	t.Cleanup(func() { _ = sub.Close() })
	go func() {
		for note := range sub.Channel() {
			h.mu.Lock()
			protocol.ParseWake(note.Payload, func(slot int, _ time.Duration) { h.slots[slot] = true })
			h.mu.Unlock()
		}
	}()
}

// sendToAll lets a new producer send to each slot of a topic.
func sendToAll(t *testing.T, cluster *servertest.RedisCluster, topic message.Topic) {
	t.Helper()
	p := newProducer(t, cluster.Client(t), Config{})
	for i := range 200 {
		mustSend(t, p, topic, message.Priority{Content: fmt.Sprint(i), Priority: time.Now().UnixMilli()}) // one that waits already is announced, too
	}
	p.idle.Wait()
}

// calls counts how often the servers of a Cluster executed a command.
func calls(t *testing.T, cluster *servertest.RedisCluster, command string) (n int) {
	t.Helper()
	for _, node := range cluster.Nodes() {
		for line := range strings.SplitSeq(node.Client(t).Info(ctx, "commandstats").Val(), "\r\n") {
			if rest, ok := strings.CutPrefix(line, "cmdstat_"+command+":calls="); ok {
				calls, _, _ := strings.Cut(rest, ",")
				k, err := strconv.Atoi(calls)
				if err != nil {
					t.Fatal(line, err)
				}
				n += k
			}
		}
	}
	return n
}
