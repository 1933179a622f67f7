package rmqotel

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/rmq"
)

// world is a client whose spans and metrics a test reads.
type world struct {
	t      *testing.T
	client *rmq.Client
	tel    *Telemetry
	spans  *tracetest.SpanRecorder
	reader *sdkmetric.ManualReader
	tracer *sdktrace.TracerProvider
}

// none is the namespace of a client that is to have none.
const none = " "

// newWorld makes a client with a namespace of the test's own.
func newWorld(t *testing.T, rdb redis.UniversalClient, client rmq.Config, cfg Config) *world {
	t.Helper()
	w := &world{t: t, spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	w.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(w.spans))
	cfg.TracerProvider, cfg.MeterProvider = w.tracer, sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.reader))
	client.Redis = rdb
	switch client.Namespace {
	case "":
		client.Namespace = strings.ToLower(t.Name())
	case none:
		client.Namespace = ""
	}
	var err error
	w.tel, err = Instrument(&client, cfg)
	w.must(err)
	if w.tel.links != nil && cfg.Redis == nil {
		w.tel.links.within = await.Patience // what is promised of links is no matter of how busy the machine is
	}
	w.client, err = rmq.New(client)
	w.must(err)
	t.Cleanup(w.close)
	return w
}

func (w *world) must(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) listen(topic rmq.Topic, o rmq.ListenOptions, handle rmq.ListenerFunc) {
	w.t.Helper()
	w.must(w.client.Listen(topic, handle, o))
}

func (w *world) start() {
	w.t.Helper()
	w.must(w.client.Start(context.Background()))
}

func (w *world) send(topic rmq.Topic, m rmq.Message) rmq.Receipt {
	w.t.Helper()
	r, err := w.client.Send(context.Background(), topic, m)
	w.must(err)
	return r
}

// close ends the client: after it, all spans have ended.
func (w *world) close() {
	w.t.Helper()
	w.must(w.client.Close(await.CleanupContext(w.t)))
}

// ended are the spans of that name, in the order of their ends.
func (w *world) ended(name string) []sdktrace.ReadOnlySpan {
	var all []sdktrace.ReadOnlySpan
	for _, s := range w.spans.Ended() {
		if s.Name() == name {
			all = append(all, s)
		}
	}
	return all
}

// only is the only span of that name.
func (w *world) only(name string) sdktrace.ReadOnlySpan {
	w.t.Helper()
	all := w.ended(name)
	if len(all) != 1 {
		w.t.Fatalf("%d spans %q", len(all), name)
	}
	return all[0]
}

// nextReader is another reader, which the test looks at from now on.
func (w *world) nextReader() *sdkmetric.ManualReader {
	w.reader = sdkmetric.NewManualReader()
	return w.reader
}

// metrics are what has been measured, by name.
func (w *world) metrics() map[string]metricdata.Metrics {
	w.t.Helper()
	var got metricdata.ResourceMetrics
	w.must(w.reader.Collect(context.Background(), &got))
	all := map[string]metricdata.Metrics{}
	for _, scope := range got.ScopeMetrics {
		if scope.Scope.Name != "github.com/slotmq/go-rmq/rmqotel" || scope.Scope.SchemaURL != "https://opentelemetry.io/schemas/1.43.0" {
			w.t.Errorf("scope %+v", scope.Scope)
		}
		for _, m := range scope.Metrics {
			all[m.Name] = m
		}
	}
	return all
}

// point is one line of a metric.
type point struct {
	set   attribute.Set
	value float64 // of a histogram: how many values there were
}

// points are the lines of a metric.
func points(m metricdata.Metrics) (all []point, kind string, bounds []float64) {
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		kind = "counter"
		if !data.IsMonotonic {
			kind = "updowncounter"
		}
		for _, p := range data.DataPoints {
			all = append(all, point{p.Attributes, float64(p.Value)})
		}
	case metricdata.Gauge[int64]:
		kind = "gauge"
		for _, p := range data.DataPoints {
			all = append(all, point{p.Attributes, float64(p.Value)})
		}
	case metricdata.Gauge[float64]:
		kind = "gauge"
		for _, p := range data.DataPoints {
			all = append(all, point{p.Attributes, p.Value})
		}
	case metricdata.Histogram[float64]:
		kind = "histogram"
		for _, p := range data.DataPoints {
			all, bounds = append(all, point{p.Attributes, float64(p.Count)}), p.Bounds
		}
	case metricdata.Histogram[int64]:
		kind = "histogram"
		for _, p := range data.DataPoints {
			all, bounds = append(all, point{p.Attributes, float64(p.Count)}), p.Bounds
		}
	}
	return all, kind, bounds
}

// sum adds the lines of a metric that have these attributes, such as "error.type=timeout".
func (w *world) sum(name string, with ...string) (total float64) {
	w.t.Helper()
	all, _, _ := points(w.metrics()[name])
next:
	for _, p := range all {
		for _, pair := range with {
			key, value, _ := strings.Cut(pair, "=")
			if got, _ := p.set.Value(attribute.Key(key)); got.Emit() != value {
				continue next
			}
		}
		total += p.value
	}
	return total
}

// word is a value of a span in words; empty if it is not set.
func word(set attribute.Set, key string) string {
	v, ok := set.Value(attribute.Key(key))
	if !ok {
		return ""
	}
	return v.Emit()
}
