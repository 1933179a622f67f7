package rmqotel_test

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/slotmq/go-rmq/internal/testing/exampletest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqotel"
	"github.com/slotmq/go-rmq/rmqtest"
)

// One call gives a client spans and metrics, by the providers of your program. The example
// runs on an in-memory Redis and prints the spans.
func ExampleInstrument() {
	t := new(exampletest.T)
	defer t.End()
	spans := tracetest.NewSpanRecorder()
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))

	cfg := rmq.Config{}
	telemetry, err := rmqotel.Instrument(&cfg, rmqotel.Config{TracerProvider: tracer})
	check(err)
	client := rmqtest.New(t, cfg) // rmq.New(cfg), in a program

	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}
	check(client.Listen(jobs, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error {
		return rmq.Dead(fmt.Errorf("no such invoice"))
	}), rmq.ListenOptions{}))
	ctx := context.Background()
	check(client.Start(ctx))
	_, err = client.Send(ctx, jobs, rmq.Priority{Content: "invoice 7", Priority: 100})
	check(err)
	client.Advance(0)

	// What is neither a send nor a handler gets its span like this.
	check(telemetry.Operation(ctx, "cancel", jobs, func(ctx context.Context) error {
		_, _, err := client.Cancel(ctx, jobs, "invoice 8", "")
		return err
	}))

	for _, s := range spans.Ended() {
		fmt.Println(s.SpanKind(), s.Name(), s.Status().Code)
	}
	// Output:
	// producer send jobs Unset
	// consumer process jobs Error
	// client cancel jobs Unset
}

// What waits in Redis is measured by one process.
func ExampleState() {
	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	defer rdb.Close()
	stop, err := rmqotel.State(rmqotel.StateConfig{Redis: rdb})
	check(err)
	defer stop()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
