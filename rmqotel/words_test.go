package rmqotel

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// All metrics have the words of rmqprom, in the form that OpenTelemetry's names take in
// Prometheus: dots become _, the unit and _total come behind. And rmqprom has no others, but for
// those about its own looks.
func TestMetricsHaveTheWordsOfPrometheus(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../rmqprom/names.go")
	if err != nil {
		t.Fatal(err)
	}
	_, version, _ := strings.Cut(schemaURL, "schemas/")
	if !strings.Contains(string(text), "conventions of OpenTelemetry, v"+version+",") {
		t.Errorf("rmqprom does not follow version %s of the conventions, or does not say so", version)
	}
	there := map[string]bool{}
	for _, m := range regexp.MustCompile(`"((?:rmq|messaging)_[a-z_]+_?[a-z]+)",`).FindAllStringSubmatch(string(text), -1) {
		there[m[1]] = !strings.HasPrefix(m[1], "rmq_state_") && !strings.HasPrefix(m[1], "messaging_system") &&
			!strings.HasSuffix(m[1], "_name") && m[1] != "messaging_operation_type"
	}
	w := newWorld(t, servertest.SharedRedis(t).Client(t), rmq.Config{}, Config{})
	w.send(rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}, rmq.Priority{Content: "x", Priority: 17})
	items := []message.Item{{What: message.Moved, Reason: "gained"}, {What: message.Probing, Reason: "began"}, {What: message.Taken, Score: 1}}
	for what := message.Done; what < message.Moved; what++ {
		items = append(items, message.Item{What: what, Took: 1, Err: consumer.ErrExpired})
	}
	w.tel.Observe(&message.Event{Topic: rmq.Topic{Name: "jobs", Kind: rmq.KindFixedTime}, Merged: 1, Items: []message.Item{{What: message.Duplicate}}})
	w.tel.Observe(&message.Event{Topic: rmq.Topic{Name: "jobs", Kind: rmq.KindFixedTime}, Worker: "w", Items: items})
	w.tel.meters.running.Add(t.Context(), 1)
	w.listen(rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}, rmq.ListenOptions{Concurrency: 5}, func(context.Context, *rmq.Delivery) error { return nil })
	w.start()
	all := w.metrics()
	if n := w.sum("rmq.handlers.allowed", "topic="+strings.ToLower(t.Name())+":jobs"); n != 5 {
		t.Errorf("%v handlers may run", n)
	}
	stop, err := State(StateConfig{
		Redis: servertest.SharedRedis(t).Client(t), Namespace: strings.ToLower(t.Name()),
		MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(w.nextReader())),
	})
	w.must(err)
	for name, m := range w.metrics() {
		all[name] = m
	}
	w.must(stop())
	for name, m := range all {
		_, kind, _ := points(m)
		name = strings.ReplaceAll(name, ".", "_")
		if m.Unit == "s" {
			name += "_seconds"
		}
		if kind == "counter" {
			name += "_total"
		}
		if !there[name] {
			t.Errorf("rmqprom has no %s", name)
		}
		delete(there, name)
	}
	for name, counts := range there {
		if counts {
			t.Errorf("%s of rmqprom is not here", name)
		}
	}
}
