package rmqotel

import (
	"context"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// How many handlers of a topic may run is shown of all clients with one MeterProvider together,
// while they work.
func TestClientsAreWatchedTogether(t *testing.T) {
	t.Parallel()
	w := &world{t: t, reader: sdkmetric.NewManualReader()}
	provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.reader))
	client := func(places int, topics ...string) *rmq.Client {
		cfg := rmq.Config{Redis: servertest.SharedRedis(t).Client(t), Namespace: strings.ToLower(t.Name())}
		_, err := Instrument(&cfg, Config{MeterProvider: provider})
		w.must(err)
		c, err := rmq.New(cfg)
		w.must(err)
		for _, name := range topics {
			nothing := rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return nil })
			w.must(c.Listen(rmq.Topic{Name: name, Kind: rmq.KindPriority}, nothing, rmq.ListenOptions{Concurrency: places}))
		}
		w.must(c.Start(context.Background()))
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		return c
	}
	want := func(places ...float64) {
		t.Helper()
		for i, topic := range []string{"both", "first", "second"} {
			if n := w.sum("rmq.handlers.allowed", "topic="+strings.ToLower(t.Name())+":"+topic); n != places[i] {
				t.Errorf("of topic %s %v handlers may run, not %v", topic, n, places[i])
			}
		}
	}
	first := client(5, "both", "first")
	want(5, 5, 0)
	second := client(3, "both", "second")
	want(8, 5, 3)
	w.must(first.Close(context.Background()))
	want(3, 0, 3)
	if one, err := watchedWith(provider); err != nil || len(one.clients) != 1 {
		t.Errorf("%d clients are watched, %v", len(one.clients), err)
	}
	first = client(5, "both", "first") // made anew
	want(8, 5, 3)
	w.must(first.Close(context.Background()))
	w.must(second.Close(context.Background()))
	if _, there := w.metrics()["rmq.handlers.allowed"]; there {
		t.Error("clients that are closed are shown")
	}
}

// A MeterProvider need not be comparable.
func TestAnyMeterProviderMayWatch(t *testing.T) {
	t.Parallel()
	type provider struct {
		noop.MeterProvider
		_ []int
	}
	cfg := rmq.Config{Redis: servertest.SharedRedis(t).Client(t)}
	if _, err := Instrument(&cfg, Config{MeterProvider: provider{}}); err != nil {
		t.Fatal(err)
	}
	c, err := rmq.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
