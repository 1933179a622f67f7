package rmqotel

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotmq/go-rmq/rmq"
)

// Config of the spans and metrics of one client. The zero value is ready to use.
type Config struct {
	// TracerProvider makes the tracer. Defaults to the global one.
	TracerProvider trace.TracerProvider

	// MeterProvider makes the meter. Defaults to the global one.
	MeterProvider metric.MeterProvider

	// Namespace of the client. Defaults to that of the rmq.Config given to [Instrument].
	Namespace string

	// Redis is the client that sends and handles: spans name its server, and Links are kept
	// there. Defaults to that of the rmq.Config given to [Instrument]. Without one, spans
	// name no server.
	Redis redis.UniversalClient

	// Links makes the span of a handler link to the first and the last of the sends that
	// merged into its message, and count them in messaging.rmq.message.merged. All programs
	// that send to a topic and handle it need it. A content longer than 4 KiB has no links, nor
	// has a client's first send to a topic that leaves Slots open.
	//
	// It costs a script for each Send, and two round trips for each delivery; and a Redis
	// user needs more rights: see docs/DEPLOYMENT.md. Defaults to false, which costs nothing.
	Links bool

	// LinksExpire is after how long what Links keeps of a slot is deleted, if the slot gets
	// no new message. A message that waits for longer may have no links. Defaults to 24 h.
	LinksExpire time.Duration

	// Contents puts the content of a message into messaging.message.id. It may be personal.
	// Defaults to false.
	Contents bool

	// HideContents keeps the text of an error, which may repeat a content, out of the status of
	// a span. Defaults to what the rmq.Config given to [Instrument] says.
	HideContents bool

	// BodySize puts the length of the content into messaging.message.body.size. Defaults to
	// false.
	BodySize bool
}

func (c Config) withDefaults() Config {
	if c.TracerProvider == nil {
		c.TracerProvider = otel.GetTracerProvider()
	}
	if c.MeterProvider == nil {
		c.MeterProvider = otel.GetMeterProvider()
	}
	if c.LinksExpire == 0 {
		c.LinksExpire = 24 * time.Hour
	}
	return c
}

func (c Config) validate() error {
	switch {
	case c.Links && c.Redis == nil:
		return &rmq.InvalidError{Field: "Config.Redis", Value: "nil", Limit: "a client of go-redis, if Links are on"}
	case c.Contents && c.HideContents:
		return &rmq.InvalidError{Field: "Config.Contents", Value: "true", Limit: "false, where HideContents is set"}
	case c.LinksExpire < time.Second:
		return &rmq.InvalidError{Field: "Config.LinksExpire", Value: fmt.Sprint(c.LinksExpire), Limit: "1s or more, or 0 for 24h"}
	}
	return nil
}
