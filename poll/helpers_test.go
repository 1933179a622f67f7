package poll

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

var ctx = context.Background()

func TestMain(m *testing.M) { servertest.Main(m) }

// shop is a Redis with a topic, and who sends to it.
type shop struct {
	testing.TB
	rdb   redis.UniversalClient
	via   redis.UniversalClient // of pollers; nil: the same
	topic message.Topic
	*producer.Producer
	pollers []*Poller
}

func newShop(t testing.TB, topic message.Topic) *shop {
	t.Helper()
	return shopOn(t, servertest.Redis(t).Client(t), topic)
}

func shopOn(t testing.TB, rdb redis.UniversalClient, topic message.Topic) *shop {
	t.Helper()
	if topic.Name == "" {
		topic.Name = "orders"
	}
	p, err := producer.New(rdb, producer.Config{})
	must.Do(t, err)
	t.Cleanup(func() { must.Do(t, p.Close(await.CleanupContext(t))) })
	return &shop{TB: t, rdb: rdb, topic: topic, Producer: p}
}

// sends sends contents: with a priority, or due now.
func (s *shop) sends(contents ...string) {
	s.Helper()
	for _, c := range contents {
		var m message.Message
		switch s.topic.Kind {
		case message.KindPriority:
			m = message.Priority{Content: c, Priority: 100}
		case message.KindFixedTime:
			m = message.FixedTime{Content: c, At: time.Now()}
		default:
			m = message.RangeMerge{Content: c, Range: time.Millisecond}
		}
		s.send(m)
	}
}

func (s *shop) send(m message.Message) {
	s.Helper()
	_, err := s.Send(ctx, s.topic, m)
	must.Do(s, err)
}

func (s *shop) poller(cfg Config) *Poller {
	s.Helper()
	if cfg.Redis = s.rdb; s.via != nil {
		cfg.Redis = s.via
	}
	p, err := New(cfg)
	must.Do(s, err)
	s.Cleanup(func() { must.Do(s, p.Close(await.CleanupContext(s))) })
	s.pollers = append(s.pollers, p)
	return p
}

// take takes a batch, which must come.
func (s *shop) take(p *Poller, o Take) *Held {
	s.Helper()
	if o.Wait == 0 {
		o.Wait = await.Patience
	}
	h, err := p.Take(ctx, []string{s.topic.Name}, o)
	must.Do(s, err)
	if h == nil {
		s.Fatal("nothing came")
	}
	return h
}

// nothing checks that there is nothing to take.
func (s *shop) nothing(p *Poller) {
	s.Helper()
	h, err := p.Take(ctx, []string{s.topic.Name}, Take{})
	must.Do(s, err)
	if h != nil {
		s.Fatalf("there is %q, attempt %d", h.Messages[0].Content, h.Attempt)
	}
}

// finish finishes a batch, and checks whether that counts.
func (s *shop) finish(p *Poller, h *Held, counts bool, verdicts ...Verdict) {
	s.Helper()
	counted, err := p.Finish(ctx, h.Receipt, verdicts...)
	must.Do(s, err)
	if counted != counts {
		s.Errorf("finish of %q: counted %v", h.Messages[0].Content, counted)
	}
}

// has checks a batch of one message.
func (s *shop) has(h *Held, content string, attempt int) {
	s.Helper()
	if len(h.Messages) != 1 || h.Messages[0].Content != content || h.Attempt != attempt {
		s.Errorf("%+v, attempt %d; want %q, %d", h.Messages, h.Attempt, content, attempt)
	}
}

func (s *shop) keys(slot int) protocol.SlotKeys { return protocol.KeysOf(s.topic.Name, slot) }

// counts are how many messages wait, are in flight, wait for a retry and are dead, of all slots.
func (s *shop) counts() (all [4]int64) {
	s.Helper()
	for slot := range s.topic.Slots {
		k := s.keys(slot)
		for i, key := range []string{k.Store, k.Prepare, k.Retry, k.Dead} {
			n, err := s.rdb.ZCard(ctx, key).Result()
			must.Do(s, err)
			all[i] += n
		}
	}
	return all
}

func numbered(prefix string, n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(prefix, i))
	}
	return all
}
