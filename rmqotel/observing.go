package rmqotel

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/slotmq/go-rmq/message"
)

// Observe counts what became of messages: the Telemetry is an rmq.Observer.
func (t *Telemetry) Observe(e *message.Event) {
	ctx := context.Background()
	topic := metric.WithAttributes(topicKey.String(e.Topic.Name))
	if e.Worker == "" {
		if _, known := t.slots.Load(e.Topic.Name); !known && e.Topic.Slots > 0 {
			t.slots.Store(e.Topic.Name, e.Topic.Slots)
		}
		if e.Merged > 0 {
			t.meters.merged.Add(ctx, int64(e.Merged), topic)
		}
		return
	}
	if known := t.worker.Load(); known == nil || *known != e.Worker {
		id := e.Worker // the event is used again
		t.worker.Store(&id)
	}
	taken := 0
	for i := range e.Items {
		item := &e.Items[i]
		switch item.What {
		case message.Taken:
			taken++
			if late, ok := latenessOf(e, item); ok {
				t.meters.lateness.Record(ctx, late.Seconds(), topic)
			}
		case message.Moved:
			t.meters.slotMoves.Add(ctx, 1, metric.WithAttributes(topicKey.String(e.Topic.Name), directionKey.String(item.Reason)))
		default:
			if counter := t.meters.of(item.What); counter != nil {
				counter.Add(ctx, 1, topic)
			}
		}
	}
	if taken > 0 {
		t.meters.batchSize.Record(ctx, int64(taken), topic)
	}
}

// of is the counter of how a delivery has ended; nil for one that is done.
func (x *instruments) of(what message.What) metric.Int64Counter {
	switch what {
	case message.Failed:
		return x.failed
	case message.Died:
		return x.dead
	case message.Snoozed:
		return x.snoozed
	case message.Dropped:
		return x.dropped
	case message.HandedBack:
		return x.handedBack
	case message.Overtaken:
		return x.takenOver
	}
	return nil
}

// latenessOf is how long after it was due a message was taken. The fence of a batch is at
// least the time of its take in µs, and the due time is of the same clock, that of Redis.
func latenessOf(e *message.Event, item *message.Item) (late time.Duration, known bool) {
	if item.Score == 0 || !e.Topic.Kind.Timed() {
		return 0, false
	}
	return max(0, time.UnixMicro(e.Fence).Sub(time.UnixMilli(item.Score))), true
}
