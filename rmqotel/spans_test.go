package rmqotel

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/trace"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// Everything that sends and handlers do is held against the list of the conventions: the
// names, kinds and attributes of their spans, and those of the metrics.
func TestConventions(t *testing.T) {
	t.Parallel()
	everything(t, servertest.SharedRedis(t).Client(t), "testconventions:jobs")
}

// The same on a Cluster, where the server of a slot is known once the first send was answered.
func TestConventionsOnACluster(t *testing.T) {
	t.Parallel()
	everything(t, servertest.Cluster(t, 3, 0).Client(t), "testconventionsonacluster:jobs")
}

func everything(t *testing.T, rdb redis.UniversalClient, dest string) {
	t.Helper()
	ctx := context.Background()
	lists := conventions(t)
	w := newWorld(t, rdb, rmq.Config{Worker: "unit", MaxAttempts: 2, Backoff: rmq.Schedule(time.Millisecond)}, Config{Contents: true, BodySize: true})
	topic := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority, Slots: 4}
	seen := make(chan string, 100)
	var asked atomic.Bool
	w.listen(topic, rmq.ListenOptions{Timeout: 10 * time.Second}, func(ctx context.Context, d *rmq.Delivery) error {
		defer func() { seen <- d.Content + " " + strconv.Itoa(d.Attempt) }()
		if !trace.SpanContextFromContext(ctx).IsValid() {
			t.Error("the handler is in no span")
		}
		if d.Attempt > 1 {
			return nil
		}
		switch d.Content {
		case "fails":
			return errors.New("no paper")
		case "panics":
			panic("no ink")
		case "exits":
			runtime.Goexit()
		case "hangs":
			<-ctx.Done()
			return ctx.Err()
		case "later":
			if !asked.Swap(true) {
				return rmq.Later(time.Millisecond)
			}
		case "dies":
			return rmq.Dead(errors.New("no such order"))
		}
		return nil
	})
	w.start()
	w.send(topic, rmq.Priority{Content: "works", Priority: 17})
	var batch []rmq.Message
	for _, content := range []string{"fails", "panics", "exits", "hangs", "dies", "later"} {
		batch = append(batch, rmq.Priority{Content: content, Priority: 17})
	}
	if _, err := w.client.SendBatch(ctx, topic, batch); err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.Send(ctx, topic, rmq.Priority{Content: "x", Priority: 1}); !errors.Is(err, rmq.ErrInvalid) {
		t.Fatal(err)
	}
	w.must(w.tel.Operation(ctx, "cancel", topic, func(ctx context.Context) error {
		if !trace.SpanContextFromContext(ctx).IsValid() {
			t.Error("the operation is in no span")
		}
		return nil
	}))
	for range 12 { // of seven messages; five of them come twice
		<-seen
	}
	w.close()

	errorTypes := map[string]string{}
	for _, s := range w.spans.Ended() {
		set := holdSpan(t, lists, s)
		if got := word(set, "messaging.system"); got != "rmq" {
			t.Errorf("system %q", got)
		}
		if got := word(set, "messaging.destination.name"); got != dest {
			t.Errorf("destination %q", got)
		}
		if got := word(set, "messaging.rmq.kind"); got != "priority" {
			t.Errorf("kind %q", got)
		}
		errorTypes[fmt.Sprint(s.Name(), " ", word(set, "messaging.message.id"), " ", word(set, "messaging.rmq.message.attempt"))] = word(set, "error.type")
		one := word(set, "messaging.batch.message_count") == "" && word(set, "messaging.operation.name") != "cancel"
		if has := word(set, "messaging.destination.partition.id") != ""; has != one {
			t.Errorf("%s names a slot: %v", s.Name(), has)
		}
	}
	for about, want := range map[string]string{
		"works 1": "", "fails 1": "_OTHER", "fails 2": "", "panics 1": "panic", "exits 1": "panic", "hangs 1": "timeout", "hangs 2": "", "dies 1": "dead", "later 1": "",
	} {
		if got, ok := errorTypes["process "+dest+" "+about]; !ok || got != want {
			t.Errorf("process %s: error.type %q (%v), not %q", about, got, ok, want)
		}
	}
	if got := errorTypes["send "+dest+" x "]; got != "invalid" {
		t.Errorf("an invalid send: error.type %q", got)
	}

	sent := w.ended("send " + dest)
	if len(sent) != 3 || sent[0].SpanKind() != trace.SpanKindProducer || sent[1].SpanKind() != trace.SpanKindClient {
		t.Fatalf("%d spans of sends", len(sent))
	}
	first, all := holdSpan(t, lists, sent[0]), holdSpan(t, lists, sent[1])
	if got := word(first, "messaging.rmq.outcome"); got != "stored" {
		t.Errorf("outcome %q", got)
	}
	if got := word(first, "messaging.message.body.size"); got != "5" {
		t.Errorf("body size %q", got)
	}
	if word(first, "server.address") != "127.0.0.1" || word(first, "server.port") == "" || word(first, "network.peer.address") != "127.0.0.1" ||
		word(first, "network.peer.port") != word(first, "server.port") {
		t.Errorf("the server of a send is %v", first.ToSlice())
	}
	if got := word(all, "messaging.batch.message_count"); got != "6" {
		t.Errorf("a batch of %q", got)
	}
	for _, s := range w.ended("process " + dest) {
		if id := word(holdSpan(t, lists, s), "messaging.client.id"); id != w.client.Worker() {
			t.Errorf("client.id %q", id)
		}
		if got := word(holdSpan(t, lists, s), "messaging.rmq.message.fence"); got == "" || s.Parent().IsValid() {
			t.Errorf("fence %q, parent %v", got, s.Parent())
		}
	}

	for name, m := range w.metrics() {
		all, kind, bounds := points(m)
		if name[:4] == "rmq." {
			continue
		}
		for _, p := range all {
			hold(t, lists, fmt.Sprintf("metric %s %s %s", name, kind, m.Unit), p.set, word(p.set, "error.type") != "", false)
			if word(p.set, "messaging.destination.partition.id") != "" {
				t.Errorf("%s names a slot", name)
			}
		}
		if want := []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}; kind == "histogram" && fmt.Sprint(bounds) != fmt.Sprint(want) {
			t.Errorf("%s has bounds %v", name, bounds)
		}
	}
	if n := w.sum("messaging.client.operation.duration", "messaging.operation.name=receive", "messaging.operation.type=receive"); n != w.sum("rmq.batch.size") || n == 0 {
		t.Errorf("%v batches were asked for", n)
	}
	if in, out := w.sum("rmq.slot.moves", "direction=gained"), w.sum("rmq.slot.moves", "direction=left"); in < 4 || in != out {
		t.Errorf("%v slots came and %v left", in, out)
	}
	for _, c := range []struct {
		name string
		with []string
		want float64
	}{
		{"messaging.client.sent.messages", []string{"messaging.operation.name=send", "error.type="}, 7},
		{"messaging.client.sent.messages", []string{"messaging.operation.name=send", "error.type=invalid"}, 0}, // it was never sent
		{"messaging.client.consumed.messages", []string{"messaging.operation.name=process", "error.type="}, 7},
		{"messaging.client.consumed.messages", []string{"error.type=panic"}, 2},
		{"messaging.client.consumed.messages", []string{"error.type=timeout"}, 1},
		{"messaging.client.consumed.messages", []string{"error.type=dead"}, 1},
		{"messaging.client.operation.duration", []string{"messaging.operation.name=send", "messaging.operation.type=send"}, 3},
		{"messaging.client.operation.duration", []string{"messaging.operation.name=send", "error.type=invalid"}, 1},
		{"messaging.client.operation.duration", []string{"messaging.operation.name=cancel", "messaging.operation.type="}, 1},
		{"messaging.process.duration", nil, 12},
		{"rmq.handlers.running", nil, 0},
		{"rmq.failed", []string{"topic=" + dest}, 4},
		{"rmq.dead", []string{"topic=" + dest}, 1},
		{"rmq.snoozed", []string{"topic=" + dest}, 1},
	} {
		if got := w.sum(c.name, c.with...); got != c.want {
			t.Errorf("%s %q: %v, not %v", c.name, c.with, got, c.want)
		}
	}
}
