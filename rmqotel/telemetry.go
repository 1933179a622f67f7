package rmqotel

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/version"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/rmq"
)

// Telemetry makes the spans and metrics of one client. It is an rmq.Observer.
type Telemetry struct {
	cfg    Config
	tracer trace.Tracer
	meters *instruments
	server *server
	links  *links // nil: off

	worker atomic.Pointer[string] // its id; nil: it has not taken anything yet
	slots  sync.Map               // name of a topic -> its number of slots, once something was sent to it
	lines  sync.Map               // of metrics: operation, or name of a topic -> attributes
	kept   atomic.Int64           // how many of them
}

// New returns the parts for one client: give it SendMiddleware, Middleware, BatchMiddleware
// and the Telemetry itself, as an observer. [Instrument] does that for you.
func New(cfg Config) (*Telemetry, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("rmqotel: %w", err)
	}
	meters, err := newInstruments(cfg.MeterProvider)
	if err != nil {
		return nil, fmt.Errorf("rmqotel: %w", err)
	}
	t := &Telemetry{cfg: cfg, meters: meters, server: serverOf(cfg.Redis)}
	t.tracer = cfg.TracerProvider.Tracer(scope, trace.WithSchemaURL(schemaURL), trace.WithInstrumentationVersion(version.Number))
	if cfg.Links {
		t.links = newLinks(cfg)
	}
	return t, nil
}

// Instrument gives a client that is yet to be made spans and metrics. It puts middleware
// outermost, so that all other middleware runs within the spans. The Telemetry is only needed for
// its Operation.
func Instrument(client *rmq.Config, cfg Config) (*Telemetry, error) {
	if cfg.Namespace == "" {
		cfg.Namespace = client.Namespace
	}
	if cfg.Redis == nil {
		cfg.Redis = client.Redis
	}
	cfg.HideContents = cfg.HideContents || client.HideContents
	t, err := New(cfg)
	if err != nil {
		return nil, err
	}
	if o, err := redis.ParseURL(client.URL); err == nil && cfg.Redis == nil { // of one server
		t.server = &server{one: o.Addr}
	}
	client.SendMiddleware = append([]producer.Middleware{t.SendMiddleware}, client.SendMiddleware...)
	client.Middleware = append([]rmq.Middleware{t.Middleware}, client.Middleware...)
	client.BatchMiddleware = append([]rmq.BatchMiddleware{t.BatchMiddleware}, client.BatchMiddleware...)
	client.Observers = append([]rmq.Observer{t}, client.Observers...)
	return t, nil
}

// destination is the name of a topic in all attributes: with the namespace.
func (t *Telemetry) destination(topic rmq.Topic) string {
	return protocol.Qualify(t.cfg.Namespace, topic.Name)
}
