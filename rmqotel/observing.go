package rmqotel

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/metric"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// Observe counts what became of messages: the Telemetry is an rmq.Observer. An event is
// definite: what a handler did is counted once Redis has applied it.
func (t *Telemetry) Observe(e *message.Event) {
	if e.Worker == "" {
		t.observeSends(e)
		return
	}
	if known := t.worker.Load(); known == nil || *known != e.Worker {
		id := e.Worker // the event is used again
		t.worker.Store(&id)
	}
	t.observeWork(e)
}

func (t *Telemetry) observeSends(e *message.Event) {
	ctx, dest := context.Background(), e.Topic.Name
	if _, known := t.slots.Load(dest); !known && e.Topic.Slots > 0 {
		t.slots.Store(dest, e.Topic.Slots)
	}
	if e.Merged > 0 {
		t.meters.merged.Add(ctx, int64(e.Merged), t.topic(dest))
	}
	good, duplicates := 0, 0
	for i := range e.Items {
		if e.Items[i].What == message.Duplicate {
			duplicates++
		}
		if word := classOf(&e.Items[i]); word != "" {
			t.meters.sent.Add(ctx, 1, t.measured(operation{name: sendName, dest: dest, errorType: word}))
			continue
		}
		good++
	}
	if duplicates > 0 {
		t.meters.duplicates.Add(ctx, int64(duplicates), t.topic(dest))
	}
	if good > 0 {
		t.meters.sent.Add(ctx, int64(good), t.measured(operation{name: sendName, dest: dest}))
	}
}

func (t *Telemetry) observeWork(e *message.Event) {
	ctx, dest := context.Background(), e.Topic.Name
	topic := t.topic(dest)
	taken := 0
	for i := range e.Items {
		item := &e.Items[i]
		switch item.What {
		case message.Taken:
			taken++
			if late, ok := latenessOf(e, item); ok {
				t.meters.lateness.Record(ctx, late.Seconds(), topic)
			}
			continue
		case message.Moved:
			t.meters.slotMoves.Add(ctx, 1, metric.WithAttributes(topicKey.String(dest), directionKey.String(item.Reason)))
			continue
		case message.Probing:
			change := int64(1)
			if item.Reason != "began" {
				change = -1
			}
			t.meters.probing.Add(ctx, change, topic)
			continue
		}
		if counter := t.meters.of(item.What); counter != nil {
			counter.Add(ctx, 1, topic)
		}
		if item.Err == consumer.ErrExpired { // just that: a handler's error may have methods that panic
			t.meters.expired.Add(ctx, 1, topic)
		}
		if item.Took > 0 { // it was in a handler
			line := t.measured(operation{name: processName, dest: dest, errorType: classOf(item)})
			t.meters.consumed.Add(ctx, 1, line)
			t.meters.process.Record(ctx, item.Took.Seconds(), line)
		}
	}
	if taken > 0 {
		t.meters.batchSize.Record(ctx, int64(taken), topic)
		t.took(ctx, e.Took, operation{name: receiveName, kind: receiveName, dest: dest})
	}
}

// classOf is the class of what went wrong with a message; empty if nothing did.
func classOf(item *message.Item) string {
	switch item.What {
	case message.Overtaken:
		return "lease_lost"
	case message.HandedBack:
		if errors.Is(item.Err, verdict.ErrPushedBack) {
			return "pushed_back"
		}
		return "closing"
	case message.Refused, message.Failed, message.Died, message.Dropped:
		if item.Err == nil {
			return rmq.ErrorType(errUnknown)
		}
		return rmq.ErrorType(item.Err)
	}
	return ""
}

var errUnknown = errors.New("no error is known")

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
