package producer

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// The wake-up of one send rides with the next one, whose connection breaks before
// the server has read it. The send is repeated; so must the wake-up be.
func TestWakeUpIsRepeatedWithTheSend(t *testing.T) {
	server := servertest.Redis(t)
	direct := server.Client(t)
	proxy := servertest.NewProxy(t, server.Addr())
	topic := topicOf(t, message.KindPriority)
	topic.Slots = 2 * writersPerServer
	content := [2]string{} // of two slots on one writer
	for c := 'a'; content[0] == "" || content[1] == ""; c++ {
		slot := mustSend(t, newProducer(t, direct, Config{}), topic, message.Priority{Content: string(c), Priority: 17}).Slot
		if slot%writersPerServer == 0 {
			content[slot/writersPerServer] = string(c)
		}
	}
	p := newProducer(t, proxy.Client(t), Config{})
	mustSend(t, p, topic, message.Priority{Content: content[0], Priority: 17})
	p.idle.Wait()
	for _, to := range p.writers.all {
		to.lastPublished = time.Time{} // so long ago that the next wake-up need not wait
	}
	sub := direct.Subscribe(ctx, luascripts.WakeChannel(topic.Name))
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}

	// The second send is queued while the first is on its way.
	var zadds, cuts atomic.Int32
	second := make(chan error, 1)
	proxy.OnRequest(func(b []byte) bool {
		text := string(b)
		switch {
		case strings.Contains(text, "publish") && strings.Contains(text, "zadd") && cuts.Add(1) == 1:
			proxy.Cut()
			proxy.Mend()
			return false
		case strings.Contains(text, "zadd") && zadds.Add(1) == 1:
			go func() {
				_, err := p.Send(ctx, topic, message.Priority{Content: content[1], Priority: 18})
				second <- err
			}()
			for !p.queued() {
				<-time.After(time.Millisecond)
			}
		}
		return true
	})
	mustSend(t, p, topic, message.Priority{Content: content[0], Priority: 18})
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	p.idle.Wait()
	if cuts.Load() == 0 {
		t.Fatal("the test did not do what it says")
	}
	heard := map[int]bool{}
	within, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for len(heard) < 2 {
		note, err := sub.ReceiveTimeout(within, time.Second)
		if err != nil {
			t.Errorf("heard of slots %v only: %v", heard, err)
			return
		}
		if m, is := note.(interface{ String() string }); is {
			_, payload, _ := strings.Cut(m.String(), ": ")
			luascripts.ParseWake(strings.TrimSuffix(payload, ">"), func(slot int, _ time.Duration) { heard[slot] = true })
		}
	}
}

// A writer that is never at rest keeps its wake-ups for the next publication, and
// publishes all of them when it comes to rest.
func TestWakeUpsAreKeptForTheNextPublication(t *testing.T) {
	rdb := servertest.Redis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindPriority)
	topic.Slots = 4 * writersPerServer
	sub := rdb.Subscribe(ctx, luascripts.WakeChannel(topic.Name))
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	known, to := writerOf(t, p, topic)
	write := func(slot int) {
		f := newFlight()
		f.add(known, slot, &checked.Message{Kind: message.KindPriority, Content: "x", Value: 17})
		to.write(f)
	}
	publishes := func() string {
		_, stat, _ := strings.Cut(rdb.Info(ctx, "commandstats").Val(), "cmdstat_publish:calls=")
		calls, _, _ := strings.Cut(stat, ",")
		return calls
	}
	to.lastPublished = time.Now().Add(time.Hour) // a moment ago
	for slot := 0; slot < 3*writersPerServer; slot += writersPerServer {
		write(slot)
	}
	if n := publishes(); n != "" {
		t.Errorf("%s publications at once", n)
	}
	to.lastPublished = time.Time{}
	write(3 * writersPerServer)
	if n := publishes(); n != "1" {
		t.Errorf("%q publications with the next write after a while", n)
	}
	to.write(nil)
	if n := publishes(); n != "2" || len(to.wakes) > 0 {
		t.Errorf("%q publications at rest, and %d kept", n, len(to.wakes))
	}
	var told strings.Builder
	for range 2 {
		note, err := sub.ReceiveMessage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		told.WriteString(note.Payload + " ")
	}
	want := ""
	for i := range 4 {
		want += strconv.Itoa(i*writersPerServer) + ":0 "
	}
	if told.String() != want {
		t.Errorf("told %q, want %q", told.String(), want)
	}
}

// Where writes take longer than publications are to be apart, each one carries the
// wake-ups of the one before.
func TestWakeUpsDoNotWaitForASecondWrite(t *testing.T) {
	rdb := servertest.Redis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{Durability: Durability{Replicas: 1, Timeout: 20 * time.Millisecond}}), topicOf(t, message.KindPriority)
	topic.Slots = 8 * writersPerServer
	known, to := writerOf(t, p, topic)
	for i := range 6 {
		f := newFlight()
		f.add(known, i*writersPerServer, &checked.Message{Kind: message.KindPriority, Content: "x", Value: 17})
		to.write(f)
		if got, want := string(to.wakes[known]), strconv.Itoa(i*writersPerServer)+":0"; got != want {
			t.Errorf("after write %d %q are kept, not %q", i, got, want)
		}
	}
	to.write(nil)
}

// When a connection breaks another server may have taken over, for all writers.
func TestLinesToOneServerShareItsClock(t *testing.T) {
	p, topic := newProducer(t, servertest.Redis(t).Client(t), Config{}), topicOf(t, message.KindPriority)
	topic.Slots = 2 * writersPerServer
	known, err := p.topics.of(ctx, topic)
	if err != nil {
		t.Fatal(err)
	}
	writers := map[*writer]bool{}
	clocks := map[*clock]bool{}
	for slot := range topic.Slots {
		l, err := p.writers.of(ctx, known, slot)
		if err != nil {
			t.Fatal(err)
		}
		writers[l], clocks[l.clock] = true, true
	}
	if len(writers) != writersPerServer || len(clocks) != 1 {
		t.Errorf("%d writers with %d clocks", len(writers), len(clocks))
	}
}

// writerOf returns what the producer keeps about a topic, and the writer of its slot 0.
func writerOf(t *testing.T, p *Producer, m message.Topic) (*topic, *writer) {
	t.Helper()
	known, err := p.topics.of(ctx, m)
	if err != nil {
		t.Fatal(err)
	}
	l, err := p.writers.of(ctx, known, 0)
	if err != nil {
		t.Fatal(err)
	}
	return known, l
}

// shut is a log that blocks, like a full pipe.
type shut chan struct{}

func (s shut) Write(p []byte) (int, error) { <-s; return len(p), nil }
func (s shut) Sync() error                 { return nil }

// The user may not publish any more, and the log that would tell so blocks. Messages are sent.
func TestLogThatBlocksHoldsUpNoSend(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	log := shut(make(chan struct{}))
	p := newProducer(t, rdb, Config{Logger: zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), log, zap.DebugLevel))})
	t.Cleanup(func() { close(log) })
	topic := topicOf(t, message.KindPriority)
	mustSend(t, p, topic, message.Priority{Content: "first", Priority: 17})
	if err := rdb.Do(ctx, "acl", "setuser", "default", "-publish").Err(); err != nil {
		t.Fatal(err)
	}
	within, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	for i := range 3 {
		if _, err := p.Send(within, topic, message.Priority{Content: fmt.Sprint(i), Priority: 17}); err != nil {
			t.Fatalf("send %d: %v", i, err)
		}
		p.idle.Wait()
	}
}
