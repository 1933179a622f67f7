package main

import (
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/servers"
)

// Pairs of rounds are compared, not the medians of each, and asynq by its best.
func TestHeadline(t *testing.T) {
	t.Parallel()
	sample := func(messages int) servers.Sample {
		return servers.Sample{Messages: messages, Took: time.Second, Client: time.Duration(messages) * time.Microsecond}
	}
	of := func(title string, rates ...int) *contestant {
		c := &contestant{title: title}
		for _, rate := range rates {
			c.all = append(c.all, sample(rate))
		}
		return c
	}
	ours, slow, quick := of("RMQ", 300, 100, 200), of("asynq 50", 10, 10, 10), of("asynq 200", 10, 20, 20)
	best := fastest([]*contestant{slow, quick, slow})
	if best != quick {
		t.Errorf("%s is the fastest", best.title)
	}
	h := compareWith(ours, best)
	if !slices.Equal(h.pairs, []float64{30, 5, 10}) || h.median != 10 || h.least != 5 || h.most != 30 || h.client != 1 || h.against != "asynq 200" {
		t.Errorf("%+v", h)
	}
}
