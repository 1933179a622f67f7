package poll

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

var ctx = context.Background()

func TestMain(m *testing.M) { servertest.Main(m) }

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newPoller(t testing.TB, rdb redis.UniversalClient, cfg Config) *Poller {
	t.Helper()
	cfg.Redis = rdb
	p, err := New(cfg)
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
		defer cancel()
		must(t, p.Close(ctx))
	})
	return p
}

func TestTakeAndFinish(t *testing.T) {
	t.Parallel()
	srv := servertest.Redis(t)
	rdb := srv.Client(t)
	s, err := producer.New(rdb, producer.Config{})
	must(t, err)
	defer s.Close(ctx)
	topic := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4}
	p := newPoller(t, rdb, Config{})
	for i := range 10 {
		_, err := s.Send(ctx, topic, message.Priority{Content: fmt.Sprint("m", i), Priority: 100})
		must(t, err)
	}
	for i := range 10 {
		h, err := p.Take(ctx, []string{"orders"}, Take{})
		must(t, err)
		if h == nil {
			t.Fatalf("nothing came, of %d", i)
		}
		counted, err := p.Finish(ctx, h.Receipt)
		must(t, err)
		if !counted {
			t.Error("it did not count")
		}
		fmt.Println(h.Messages[0].Content, h.Slot, h.Fence, time.Until(h.Until))
	}
	h, err := p.Take(ctx, []string{"orders"}, Take{})
	fmt.Println(h, err)
	time.AfterFunc(300*time.Millisecond, func() {
		s.Send(ctx, topic, message.Priority{Content: "late", Priority: 100})
	})
	begin := time.Now()
	h, err = p.Take(ctx, []string{"orders"}, Take{Wait: 5 * time.Second})
	fmt.Println(h, err, time.Since(begin))
	c, err := p.Finish(ctx, h.Receipt, Failed("why", 100*time.Millisecond))
	fmt.Println(c, err)
	h, err = p.Take(ctx, []string{"orders"}, Take{Wait: 5 * time.Second})
	fmt.Println(h, err, time.Since(begin))
}
