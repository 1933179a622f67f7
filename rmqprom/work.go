package rmqprom

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/message"
)

// work are the figures of what workers of this process did with the messages of a topic.
type work struct {
	mu      sync.Mutex
	any     bool
	handled [errorTypes]histogram     // how long handlers had a message
	asked   histogram                 // how long Redis took for a batch
	batch   histogram                 // how many messages it had
	late    histogram                 // messages, when they were taken
	ends    [message.Moved + 1]uint64 // what became of messages, besides Done
	expired uint64                    // of those that died or were dropped
	gained  uint64                    // slots
	left    uint64
	probing int // workers
}

// count counts an event of a worker.
func (w *work) count(e *message.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.any = true
	taken := 0
	for i := range e.Items {
		item := &e.Items[i]
		switch item.What {
		case message.Taken:
			taken++
			if late, known := latenessOf(e, item); known {
				w.late.add(&latenesses, int64(late), 1)
			}
		case message.Moved:
			if item.Reason == gained {
				w.gained++
			} else {
				w.left++
			}
		case message.Probing:
			if item.Reason == began {
				w.probing++
			} else {
				w.probing--
			}
		default:
			if int(item.What) < len(w.ends) {
				w.ends[item.What]++
			}
			if item.Err == consumer.ErrExpired { // just that: a handler's error may have methods that panic
				w.expired++
			}
			if item.Took > 0 { // it was in a handler
				w.handled[errorOf(item)].add(&durations, int64(item.Took), 1)
			}
		}
	}
	if taken > 0 {
		w.asked.add(&durations, int64(e.Took), 1)
		w.batch.add(&sizes, int64(taken), 1)
	}
}

// The directions of a slot that moves. These are also the reasons of Moved.
const gained, left = "gained", "left"

// began is the reason of Probing when it begins.
const began = "began"

// latenessOf is how long after it was due a message was taken. The fence of a batch is the
// time of its take in µs, and the due time is of the same clock, that of Redis. (After a
// failover to a server whose clock is behind, a fence may be later for a while.)
func latenessOf(e *message.Event, item *message.Item) (late time.Duration, known bool) {
	if item.Score == 0 || !e.Topic.Kind.Timed() {
		return 0, false
	}
	return max(0, time.UnixMicro(e.Fence).Sub(time.UnixMilli(item.Score))), true
}

func (w *work) collect(topic string, to chan<- prometheus.Metric) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.any {
		return
	}
	for failure := range w.handled {
		h := &w.handled[failure]
		if n := h.count(); n > 0 || failure == none {
			to <- counter(consumedMessages, n, system, process, topic, errorNames[failure])
			to <- h.metric(processDuration, &durations, system, process, topic, errorNames[failure])
		}
	}
	to <- w.asked.metric(operationDuration, &durations, system, receive, topic, errorNames[none], receive)
	to <- w.batch.metric(batchSize, &sizes, topic)
	if w.late.counts != nil { // due times are known
		to <- w.late.metric(lateness, &latenesses, topic)
	}
	for what, d := range ofEnds {
		to <- counter(d, w.ends[what], topic)
	}
	to <- counter(expired, w.expired, topic)
	to <- counter(slotMoves, w.gained, topic, gained)
	to <- counter(slotMoves, w.left, topic, left)
	to <- gauge(probing, float64(w.probing), topic)
}

// ofEnds are the counters of what becomes of messages.
var ofEnds = map[message.What]*prometheus.Desc{
	message.Failed: failed, message.Died: dead, message.Snoozed: snoozed, message.Dropped: dropped,
	message.HandedBack: handedBack, message.Overtaken: takenOver,
}
