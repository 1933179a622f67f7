package producer

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	pauses := pausesAfterPoorReadings()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("for its time at first and every 10 s,", 10*time.Second, better(nil, readingOf(0)).pause)
	protocol.Says("each look takes up to three readings", 3, readings)
	protocol.Says("until one took 1 ms or less", time.Millisecond, longestQuick())
	protocol.Says("add 1 ms to its error", time.Millisecond, errorAfter(10*time.Second))
	protocol.Says("Each 10 s of its age add", 10*time.Second, clockEvery)
	protocol.Says("(clocks may drift by 100 ppm)", 1e-4, errorAfter(10*time.Second).Seconds()/10)
	protocol.Says("A poor reading is followed by another look after 1, 2, 4 and 8 s.", 8*time.Second, pauses[3])
	for i, want := range []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 10 * time.Second, 10 * time.Second} {
		if pauses[i] != want {
			t.Errorf("look %d comes after %v", i+1, pauses[i])
		}
	}
	protocol.Says("in one network, 1 ms more", time.Millisecond, errorAfter(10*time.Second))
	protocol.Says("The first send to a topic, and another one every 30 s,", 30*time.Second, recheck)
	protocol.Says("and writes 64 if there is none", 64, limits.DefaultSlots)
	protocol.Says("The producer tries again for about 4 s.", 4*time.Second, retryFor)
	protocol.Says("and after 4 s the producer gives up: not stored", 4*time.Second, retryFor)
	protocol.Says("and so does all of the next 100 ms", 100*time.Millisecond, unheardFor)
	protocol.Says("that has seen a slot of the topic move publishes to all for a minute", time.Minute, movedFor)
	protocol.Says("So an answer that took longer than 500 ms,", 500*time.Millisecond, slowAnswer)
	protocol.Says("was idle and sends in the last 500 ms before", 500*time.Millisecond, slowAnswer)
	protocol.Says("for the outcome, for 2 s after the first one at most;", 2*time.Second, newDoubts().waits)
	protocol.Says("after 10 s, and the time of one round trip", 10*time.Second, clockEvery)
	protocol.Says("and for up to 10 s after a failover", 10*time.Second, clockEvery)

	rdb := redis.NewClient(&redis.Options{})
	defer rdb.Close()
	bound := sendTimeoutOf(rdb, Config{})
	protocol.Says("A caller that names no deadline waits for 6 s.", 6*time.Second, bound)
	reference := promises.Of(t, "docs/REFERENCE.md")
	reference.Says("Without a deadline, a send gives up after 6 s without an answer,", 6*time.Second, bound)
	hasty := redis.NewClient(&redis.Options{ReadTimeout: time.Millisecond})
	defer hasty.Close()
	reference.Says("and never before 5 s", 5*time.Second, sendTimeoutOf(hasty, Config{}))
	reference.Says("or 1 s more than the `ReadTimeout`", time.Second, bound-rdb.Options().ReadTimeout)

	deployment := promises.Of(t, "docs/DEPLOYMENT.md")
	deployment.Says("if it takes longer than 4 s.", 4*time.Second, retryFor)
	deployment.Says("a send of an idle producer in the last 500 ms of the hang", 500*time.Millisecond, slowAnswer)
}

// readingOf is one that took a time there and back.
func readingOf(trip time.Duration) reading {
	return reading{local: time.Unix(1e9, 0), server: time.Unix(1e9, 0), bound: trip / 2}
}

// longestQuick is the longest time that a reading may take which is not poor.
func longestQuick() time.Duration {
	trip := time.Duration(0)
	for better(nil, readingOf(trip+2*time.Microsecond)).pause == better(nil, readingOf(0)).pause {
		trip += 2 * time.Microsecond
	}
	return trip
}

// pausesAfterPoorReadings are those until the next look, one after the other.
func pausesAfterPoorReadings() (pauses []time.Duration) {
	var last *reading
	for range 6 {
		r := better(last, readingOf(time.Second))
		pauses, last = append(pauses, r.pause), &r
	}
	return pauses
}

// errorAfter is by how much the error of a reading grows.
func errorAfter(age time.Duration) time.Duration {
	r := readingOf(0)
	return r.moment(r.local.Add(age)).bound
}
