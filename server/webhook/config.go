package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/servers/redisurl"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqhttp"
	"github.com/slotmq/go-rmq/server/internal/ids"
)

// Config of what is sent on.
type Config struct {
	// Client that listens. Its Concurrency defaults to that of all targets together.
	Client rmq.Config

	// Targets, each for a topic of its own. At least one.
	Targets []Target
}

// Push sends the messages of some topics on, between Start and Close.
type Push struct {
	client   *rmq.Client
	targets  []*listener
	ids      *ids.IDs
	closeRdb func() error // of the Redis client that was made here
}

// New returns what sends messages on. It validates the Config, and does no I/O.
func New(cfg Config) (*Push, error) {
	p, err := newPush(cfg)
	if err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	return p, nil
}

func newPush(cfg Config) (*Push, error) {
	if len(cfg.Targets) == 0 {
		return nil, &message.InvalidError{Field: "Config.Targets", Value: "empty", Limit: "at least one"}
	}
	p, places := &Push{closeRdb: func() error { return nil }}, 0
	of := map[string]int{}
	log := logs.Choose(cfg.Client.Logger, cfg.Client.Slog)
	for i, t := range cfg.Targets {
		if err := t.Check(); err != nil {
			return nil, inField(err, func(field string) string { return fmt.Sprintf("Config.Targets[%d].%s", i, field) })
		}
		if before, twice := of[t.Topic.Name]; twice {
			return nil, &message.InvalidError{Field: fmt.Sprintf("Config.Targets[%d].Topic", i), Value: t.Topic.Name,
				Limit: fmt.Sprintf("another one than that of Targets[%d]: a topic has one target", before)}
		}
		of[t.Topic.Name] = i
		l := newListener(t.withDefaults(), log)
		p.targets = append(p.targets, l)
		places += l.Concurrency
	}
	if cfg.Client.Concurrency == 0 {
		cfg.Client.Concurrency = places
	}
	err := p.connect(&cfg.Client)
	if err != nil {
		return nil, err
	}
	if p.client, err = rmq.New(cfg.Client); err != nil {
		return nil, errors.Join(err, p.closeRdb())
	}
	for _, l := range p.targets {
		l.ids = p.ids
		if err := p.client.Listen(l.Topic, l, l.options()); err != nil {
			return nil, errors.Join(err, p.Close(context.Background()))
		}
	}
	return p, nil
}

// connect has the client and the ids share one Redis client.
func (p *Push) connect(cfg *rmq.Config) error {
	if cfg.Redis == nil && cfg.URL != "" {
		rdb, err := redisurl.Open(cfg.URL)
		if err != nil {
			return fmt.Errorf("Config.Client.URL is %w: %w", message.ErrInvalid, err)
		}
		cfg.Redis, cfg.URL, p.closeRdb = rdb, "", sync.OnceValue(rdb.Close)
	}
	p.ids = ids.New(cfg.Redis, cfg.Namespace, freshID)
	cfg.Observers = append(slices.Clip(cfg.Observers), p.ids)
	return nil
}

// Probes answers /livez and /readyz, as rmqhttp.Health does.
func (p *Push) Probes() http.Handler { return rmqhttp.Health(p.client) }

// inField gives the field of an InvalidError another name.
func inField(err error, name func(string) string) error {
	var invalid *message.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	return &message.InvalidError{Field: name(invalid.Field), Value: invalid.Value, Limit: invalid.Limit}
}

// Start begins to send, and returns when the worker is running: see rmq.Client.Start.
func (p *Push) Start(ctx context.Context) error {
	for _, l := range p.targets {
		if err := p.ids.Check(ctx, l.Topic.Name); err != nil {
			return fmt.Errorf("webhook: %w", err)
		}
	}
	return p.client.Start(ctx)
}

// Health returns why messages cannot be sent on now, as far as that is the worker's affair: see
// rmq.Client.Health. It does not ask the targets.
func (p *Push) Health(ctx context.Context) error { return p.client.Health(ctx) }

// Close waits for the answers of requests under way until ctx ends; then it cuts them off, and their
// messages go back without having spent a delivery: see rmq.Client.Close.
func (p *Push) Close(ctx context.Context) error {
	err := p.client.Close(ctx)
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	p.ids.Close(grace)
	err = errors.Join(err, p.closeRdb())
	for _, l := range p.targets {
		l.transport.CloseIdleConnections()
	}
	return err
}

// SetSecrets has the requests to the target of a topic signed by other secrets from now on.
func (p *Push) SetSecrets(topic string, secrets []string) error {
	keys, err := keysOf(secrets)
	if err != nil {
		return fmt.Errorf("webhook: secrets of topic %s: %w", topic, err)
	}
	for _, l := range p.targets {
		if l.Topic.Name == topic {
			l.keys.Store(&keys)
			return nil
		}
	}
	return fmt.Errorf("webhook: no target has the topic %s", topic)
}
