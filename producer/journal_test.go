package producer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// told is a journal that keeps what it gets.
type told struct {
	mu       sync.Mutex
	sends    []record.Sends
	refuses  error
	withhold chan func(error) // gets what the senders wait for; nil: they do not
}

func (j *told) Observe(*message.Event) {}

func (j *told) Ready() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.refuses
}

func (j *told) Sent(all []*record.Sends, then func(error)) {
	j.mu.Lock()
	for _, s := range all {
		kept := *s
		kept.Items = slices.Clone(s.Items)
		j.sends = append(j.sends, kept)
	}
	j.mu.Unlock()
	if j.withhold != nil {
		j.withhold <- then
		return
	}
	then(nil)
}

// lines returns what the journal got, without times to come, and forgets it.
func (j *told) lines() (lines []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, s := range j.sends {
		for _, x := range s.Items {
			line := fmt.Sprintf("%s at %d", x.Content, s.Number)
			if now := time.Now().UnixMicro(); s.Number != record.UnknownNumber && s.Number > now-time.Hour.Microseconds() && s.Number < now+time.Second.Microseconds() {
				line = x.Content + " at the clock"
			}
			if x.Score < 1e9 {
				line += fmt.Sprintf(": %d", x.Score)
			}
			if x.Keeps {
				line += " keeps"
			}
			if x.Merged {
				line += " merged"
			}
			if x.Note != "" {
				line += " note " + x.Note
			}
			lines = append(lines, line)
		}
	}
	j.sends = nil
	return lines
}

func (j *told) want(t *testing.T, lines ...string) {
	t.Helper()
	if got := j.lines(); !slices.Equal(got, lines) {
		t.Errorf("told %q, want %q", got, lines)
	}
}

// The number is the slot's, and the journal learns which sends changed nothing.
func TestJournalIsToldWhatWasSent(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	number := func(topic message.Topic, n any) {
		for slot := range topic.Slots {
			rdb.HSet(context.Background(), protocol.KeysOf(topic.Name, slot).Meta, "batch", n)
		}
	}
	j := &told{}
	p := newProducer(t, rdb, Config{Journal: j})
	for _, notes := range []bool{false, true} {
		topic := topicOf(t, message.KindPriority)
		topic.Notes = notes
		mustSend(t, p, topic, message.Priority{Content: "a", Priority: 20})
		j.want(t, "a at the clock: 20")
		number(topic, 7)
		mustSend(t, p, topic, message.Priority{Content: "a", Priority: 30})
		j.want(t, "a at 7: 30")
		mustSend(t, p, topic, message.Priority{Content: "once", Priority: 30, Unique: time.Hour})
		mustSend(t, p, topic, message.Priority{Content: "once", Priority: 40, Unique: time.Hour})
		j.want(t, "once at 7: 30")
		number(topic, "of another program")
		mustSend(t, p, topic, message.Priority{Content: "a", Priority: 50})
		j.want(t, fmt.Sprintf("a at %d: 50", record.UnknownNumber))
		if notes {
			mustSend(t, p, topic, message.Priority{Content: "b", Priority: 50, TTL: time.Second, Headers: map[string]string{"k": "v"}})
			j.want(t, fmt.Sprintf(`b at %d: 50 note 1000 {"k":"v"}`, record.UnknownNumber))
		}
	}

	merging := topicOf(t, message.KindRangeMerge)
	for range 2 {
		mustSend(t, p, merging, message.RangeMerge{Content: "a", Range: time.Hour})
	}
	j.want(t, "a at the clock", "a at the clock keeps merged")
	for range 2 {
		mustSend(t, p, merging, message.RangeMerge{Content: "b", Range: time.Hour, Extend: true, Ceiling: 2 * time.Hour})
	}
	j.want(t, "b at the clock", "b at the clock")
	var both []message.Message
	for _, content := range []string{"a", "c"} {
		both = append(both, message.RangeMerge{Content: content, SlotBasis: "same", Range: time.Hour})
	}
	mustSend(t, p, merging, both[0])
	j.lines()
	if _, err := p.SendBatch(context.Background(), merging, both); err != nil {
		t.Fatal(err)
	}
	j.want(t, "a at the clock keeps", "c at the clock keeps") // one answer for both

	full := newProducer(t, rdb, Config{Journal: j, MaxWaiting: 1})
	small := topicOf(t, message.KindPriority)
	small.Slots = 1
	mustSend(t, full, small, message.Priority{Content: "a", Priority: 20})
	if _, err := full.Send(context.Background(), small, message.Priority{Content: "b", Priority: 20}); !errors.Is(err, ErrQueueFull) {
		t.Fatal(err)
	}
	j.want(t, "a at the clock: 20")
}

// What is sent behind a loss of Redis has a number that is above all before. Else an end of long ago
// would settle it.
func TestJournalNumbersGrowOverALossOfRedis(t *testing.T) {
	t.Parallel()
	ctx, rdb := context.Background(), servertest.SharedRedis(t).Client(t)
	j := &told{}
	p := newProducer(t, rdb, Config{Journal: j})
	topic := topicOf(t, message.KindPriority)
	topic.Slots = 1
	send := func(want string) {
		t.Helper()
		mustSend(t, p, topic, message.Priority{Content: "a", Priority: 20})
		j.want(t, "a at "+want+": 20")
	}
	send("the clock")
	meta := protocol.KeysOf(topic.Name, 0).Meta
	rdb.HSet(ctx, meta, "batch", 7)
	send("7")
	rdb.Del(ctx, meta)
	send("the clock") // as it is known
	send("the clock") // as it is read behind the send
	rdb.HSet(ctx, meta, "batch", 8)
	send("8")
}

// Senders wait for the journal, and nothing waits for them.
func TestSendWaitsForTheJournal(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	j := &told{withhold: make(chan func(error), 2)}
	p := newProducer(t, rdb, Config{Journal: j})
	topic := topicOf(t, message.KindPriority)
	results := make(chan error, 2)
	send := func(content string) func(error) {
		go func() {
			_, err := p.Send(context.Background(), topic, message.Priority{Content: content, Priority: 20})
			results <- err
		}()
		return <-j.withhold
	}
	first, second := send("a"), send("b") // the second is written while the first waits
	select {
	case err := <-results:
		t.Fatalf("a send has returned, %v, and the journal has neither", err)
	default:
	}
	second(nil)
	if err := <-results; err != nil {
		t.Error(err)
	}
	full := errors.New("the disk is full")
	first(full)
	if err := <-results; !errors.Is(err, message.ErrNotJournaled) || !errors.Is(err, full) || errors.Is(err, ErrUncertain) {
		t.Error(err)
	}

	last := send("c")
	for p.flushing() { // the journal alone is what Close has to wait for
	}
	closed := make(chan error, 1)
	go func() { closed <- p.Close(context.Background()) }()
	for !p.refuses() {
	}
	select {
	case err := <-closed:
		t.Fatalf("Close has not waited for the journal: %v", err)
	default:
	}
	last(nil)
	if err := errors.Join(<-closed, <-results); err != nil {
		t.Error(err)
	}
}

// flushing reports whether a flusher runs.
func (p *Producer) flushing() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, to := range p.writers.all {
		if to.flushing {
			return true
		}
	}
	return false
}

// refuses reports whether Close was called.
func (p *Producer) refuses() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// What the journal does not want is not stored.
func TestJournalRefusesSends(t *testing.T) {
	t.Parallel()
	rdb := servertest.SharedRedis(t).Client(t)
	j := &told{}
	p := newProducer(t, rdb, Config{Journal: j})
	topic := topicOf(t, message.KindPriority)
	mustSend(t, p, topic, message.Priority{Content: "a", Priority: 20})
	j.refuses = errors.New("the buffer is full")
	_, err := p.Send(context.Background(), topic, message.Priority{Content: "b", Priority: 20})
	_, batch := p.SendBatch(context.Background(), topic, []message.Message{message.Priority{Content: "b", Priority: 20}})
	if !errors.Is(err, j.refuses) || !errors.Is(batch, j.refuses) {
		t.Errorf("%v, %v", err, batch)
	}
	if there := waiting(t, rdb, topic); len(there) != 1 {
		t.Errorf("%v waits", there)
	}
}
