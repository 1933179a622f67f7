package producer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// The wake-up of a send is written with it, and the connection breaks before the server has
// read either. The send is repeated; so must the wake-up be, when the message is there.
func TestWakeUpIsRepeatedWithTheSend(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	direct := server.Client(t)
	proxy := servertest.NewProxy(t, server.Addr())
	topic := topicOf(t, message.KindPriority)
	p := newProducer(t, proxy.Client(t), Config{})
	slot := mustSend(t, p, topic, message.Priority{Content: "a", Priority: 17}).Slot
	p.idle.Wait()
	for _, to := range p.writers.all {
		to.lastPublished = time.Time{} // so long ago that the next wake-up need not wait
	}
	sub := direct.Subscribe(ctx, protocol.WakeChannel(topic.Name))
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	var cuts atomic.Int32
	proxy.OnRequest(func(b []byte) bool {
		text := string(b)
		if strings.Contains(text, "publish") && strings.Contains(text, "zadd") && cuts.Add(1) == 1 {
			proxy.Cut()
			proxy.Mend()
			return false
		}
		return true
	})
	mustSend(t, p, topic, message.Priority{Content: "a", Priority: 18})
	p.idle.Wait()
	if cuts.Load() == 0 {
		t.Fatal("the test did not do what it says")
	}
	note, err := sub.ReceiveMessage(ctx)
	if want := strconv.Itoa(slot) + ":0"; err != nil || !strings.Contains(note.Payload, want) {
		t.Errorf("heard %v, %v; want %s", note, err, want)
	}
}

// A wake-up that was written with a message which the server refused, for now, comes again when
// the message is there.
func TestWakeUpComesAgainBehindARetry(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	rdb, admin := server.Client(t), server.Client(t)
	p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindPriority)
	slot := mustSend(t, p, topic, message.Priority{Content: "a", Priority: 17}).Slot
	p.idle.Wait()
	for _, to := range p.writers.all {
		to.lastPublished = time.Time{}
	}
	sub := admin.Subscribe(ctx, protocol.WakeChannel(topic.Name))
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	host, port, _ := strings.Cut(servertest.Redis(t).Addr(), ":")
	if err := admin.SlaveOf(ctx, host, port).Err(); err != nil { // a replica publishes, and stores nothing
		t.Fatal(err)
	}
	sent := make(chan error, 1)
	go func() {
		_, err := p.Send(ctx, topic, message.Priority{Content: "a", Priority: 18})
		sent <- err
	}()
	within := await.Context(t)
	for want, n := strconv.Itoa(slot)+":0", 0; n < 2; n++ {
		note, err := sub.ReceiveMessage(within)
		if err != nil || note.Payload != want {
			t.Fatalf("wake-up %d is %v, %v; want %s", n, note, err, want)
		}
		if n == 0 {
			if err := admin.SlaveOf(ctx, "no", "one").Err(); err != nil {
				t.Fatal(err)
			}
		} else if got := waiting(t, admin, topic)["a"]; got != 18 {
			t.Errorf("the wake-up came before the message: it has %v", got)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
}

// A command that is sent a second time at once, because the server did not know its script, comes
// behind the wake-up that was written with it. So the wake-up comes again, too.
func TestWakeUpComesAgainBehindACommandThatIsSentTwice(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{MaxWaiting: 100}), topicOf(t, message.KindPriority)
	slot := mustSend(t, p, topic, message.Priority{Content: "a", Priority: 17}).Slot
	p.idle.Wait()
	for _, to := range p.writers.all {
		to.lastPublished = time.Time{}
	}
	if err := rdb.ScriptFlush(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	sub := rdb.Subscribe(ctx, protocol.WakeChannel(topic.Name))
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}
	mustSend(t, p, topic, message.Priority{Content: "a", Priority: 18})
	within := await.Context(t)
	for n := range 2 {
		note, err := sub.ReceiveMessage(within)
		if want := strconv.Itoa(slot) + ":0"; err != nil || note.Payload != want {
			t.Fatalf("wake-up %d is %v, %v; want %s", n, note, err, want)
		}
	}
}

// A writer that is never at rest keeps its wake-ups for the next publication, which has those of
// its own messages, too. It publishes what is left when it comes to rest.
func TestWakeUpsAreKeptForTheNextPublication(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	p, topic := newProducer(t, rdb, Config{}), topicOf(t, message.KindPriority)
	topic.Slots = 4 * writersPerServer
	sub := rdb.Subscribe(ctx, protocol.WakeChannel(topic.Name))
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
	to.lastPublished = time.Now().Add(time.Hour)
	write(0)
	to.write(nil)
	if n := publishes(); n != "2" || len(to.wakes) > 0 {
		t.Errorf("%q publications at rest, and %d kept", n, len(to.wakes))
	}
	all := []int{0, writersPerServer, 2 * writersPerServer, 3 * writersPerServer}
	for _, want := range [][]int{all, {0}} {
		note, err := sub.ReceiveMessage(ctx)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		protocol.ParseWake(note.Payload, func(slot int, _ time.Duration) { got = append(got, slot) })
		if !slices.Equal(got, want) {
			t.Errorf("wake-ups of slots %v, want %v", got, want)
		}
	}
}

// Where writes take longer than publications are to be apart, each one carries its own
// wake-ups; those of a kind whose sends merge go with the next one, when their answers are known.
func TestWakeUpsDoNotWaitForASecondWrite(t *testing.T) {
	t.Parallel()
	rdb := servertest.Redis(t).Client(t)
	for _, kind := range []message.Kind{message.KindPriority, message.KindRangeMerge} {
		p, topic := newProducer(t, rdb, Config{Durability: Durability{Replicas: 1, Timeout: 20 * time.Millisecond}}), topicOf(t, kind)
		topic.Slots = 8 * writersPerServer
		known, to := writerOf(t, p, topic)
		for i := range 6 {
			f := newFlight()
			f.add(known, i*writersPerServer, &checked.Message{Kind: kind, Content: "x", Value: 17})
			to.write(f)
			want := ""
			if kind.FirstWins() {
				want = strconv.Itoa(i*writersPerServer) + ":0"
			}
			if got := string(to.wakes[known]); got != want {
				t.Errorf("%v: after write %d %q are kept, not %q", kind, i, got, want)
			}
		}
		to.write(nil)
	}
}

// The wake-up of a message with a time needs the server's clock. A write does not wait for that:
// the wake-up then follows the answers.
func TestNoWriteWaitsForTheClockOfItsWakeUp(t *testing.T) {
	t.Parallel()
	p, topic := newProducer(t, servertest.Redis(t).Client(t), Config{}), topicOf(t, message.KindFixedTime)
	known, to := writerOf(t, p, topic)
	announced := func() bool {
		f := newFlight()
		f.add(known, 0, &checked.Message{Kind: message.KindFixedTime, Content: "x", Value: time.Now().UnixMilli()})
		to.announce(f)
		return f.lanes[0].announced && len(to.wakes) > 0
	}
	if _, err := to.clock.now(ctx, known.slots[0].store); err != nil {
		t.Fatal(err)
	}
	to.clock.expire() // another server may have taken over, so only its answer says what time it is
	if announced() {
		t.Error("announced before the server has said what time it is")
	}
	if _, err := to.clock.now(ctx, known.slots[0].store); err != nil {
		t.Fatal(err)
	}
	if !announced() {
		t.Error("not announced although the time is known")
	}
	clear(to.wakes)
}

// When a connection breaks another server may have taken over, for all writers.
func TestLinesToOneServerShareItsClock(t *testing.T) {
	t.Parallel()
	p, topic := newProducer(t, servertest.Redis(t).Client(t), Config{}), topicOf(t, message.KindPriority)
	topic.Slots = 2 * writersPerServer
	waits := p.waits(ctx)
	known, err := p.topics.of(&waits, topic)
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
	waits := p.waits(ctx)
	known, err := p.topics.of(&waits, m)
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

// The user may not publish any more, and the log that would say so blocks. Messages are sent.
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
	within := await.Context(t)
	for i := range 3 {
		if _, err := p.Send(within, topic, message.Priority{Content: fmt.Sprint(i), Priority: 17}); err != nil {
			t.Fatalf("send %d: %v", i, err)
		}
		p.idle.Wait()
	}
}
