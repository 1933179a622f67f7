package rmqotel

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/rmq"
)

func TestInstrument(t *testing.T) {
	t.Parallel()
	inSpan := false
	own := func(next producer.Sender) producer.Sender { return checking{next, &inSpan} }
	cfg := rmq.Config{URL: "redis://example.org", Namespace: "shop", SendMiddleware: []producer.Middleware{own}}
	tel, err := Instrument(&cfg, Config{})
	if err != nil {
		t.Fatal(err)
	}
	if len(cfg.SendMiddleware) != 2 || len(cfg.Middleware) != 1 || len(cfg.BatchMiddleware) != 1 || len(cfg.Observers) != 1 {
		t.Errorf("the client has %d, %d, %d and %d parts", len(cfg.SendMiddleware), len(cfg.Middleware), len(cfg.BatchMiddleware), len(cfg.Observers))
	}
	if got := tel.destination(rmq.Topic{Name: "jobs"}); got != "shop:jobs" {
		t.Errorf("the topic is called %s", got)
	}
	if tel.server.one != "example.org:6379" {
		t.Errorf("the server is %s", tel.server.one)
	}

	w := newWorld(t, servertest.SharedRedis(t).Client(t), rmq.Config{SendMiddleware: []producer.Middleware{own}}, Config{})
	w.send(rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}, rmq.Priority{Content: "x", Priority: 17})
	if !inSpan {
		t.Error("other middleware is not within the span")
	}
	// Which slot it was is known from the receipt, though not to the sampler.
	if got := word(holdSpan(t, conventions(t), w.only("send testinstrument:jobs")), "messaging.destination.partition.id"); got == "" {
		t.Error("the slot is not named")
	}
}

// checking notes whether a send is in a span.
type checking struct {
	producer.Sender
	inSpan *bool
}

func (c checking) Send(ctx context.Context, t rmq.Topic, m rmq.Message) (rmq.Receipt, error) {
	*c.inSpan = trace.SpanContextFromContext(ctx).IsValid()
	return c.Sender.Send(ctx, t, m)
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	for field, cfg := range map[string]Config{
		"Config.Redis":       {Links: true},
		"Config.LinksExpire": {LinksExpire: 1},
		"Config.Contents":    {Contents: true, HideContents: true},
	} {
		_, err := Instrument(&rmq.Config{}, cfg)
		var invalid *rmq.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != field || !strings.HasPrefix(err.Error(), "rmqotel: ") {
			t.Errorf("%v, not an InvalidError about %s", err, field)
		}
	}
}

// A batch counts each message by what became of it.
func TestBatchThatIsStoredInPart(t *testing.T) {
	t.Parallel()
	w := newWorld(t, servertest.SharedRedis(t).Client(t), rmq.Config{MaxWaiting: 2, HideContents: true}, Config{})
	var batch []rmq.Message
	for _, content := range []string{"a", "b", "c", "d", "e"} {
		batch = append(batch, rmq.Priority{Content: content, Priority: 17})
	}
	topic := rmq.Topic{Name: "full", Kind: rmq.KindPriority, Slots: 1}
	if _, err := w.client.SendBatch(context.Background(), topic, batch); !errors.Is(err, rmq.ErrQueueFull) {
		t.Fatal(err)
	}
	if stored, full := w.sum("messaging.client.sent.messages", "error.type="), w.sum("messaging.client.sent.messages", "error.type=queue_full"); stored != 2 || full != 3 {
		t.Errorf("%v were stored, %v refused", stored, full)
	}
	s := w.only("send " + w.tel.destination(topic))
	if got := word(holdSpan(t, conventions(t), s), "error.type"); got != "queue_full" || s.Status().Description != "queue_full" {
		t.Errorf("error.type %q, described as %q", got, s.Status().Description)
	}
}

func TestServersAreNamed(t *testing.T) {
	t.Parallel()
	for addr, want := range map[string][2]int{ // how many attributes: server, peer
		"127.0.0.1:6379": {2, 2}, "[::1]:6379": {2, 2}, "redis.example.org:6379": {2, 0}, "/run/redis.sock": {1, 1},
		"FailoverClient": {0, 0}, "": {0, 0}, "x:y": {0, 0},
	} {
		if got := [2]int{len(named(addr)), len(peer(addr))}; got != want {
			t.Errorf("%q: %v, not %v", addr, got, want)
		}
	}
	sentinel := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "m", SentinelAddrs: []string{"127.0.0.1:1"}})
	defer sentinel.Close()
	if got := named(serverOf(sentinel).of(context.Background(), "k")); len(got) != 0 {
		t.Errorf("behind Sentinels: %v", got)
	}
	if got := serverOf(nil).of(context.Background(), "k"); got != "" {
		t.Errorf("no client: %q", got)
	}
}
