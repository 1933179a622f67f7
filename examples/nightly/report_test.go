package main

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqtest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// Three instances, of which each third day the one that has written last is stopped, and another one
// started, which declares the report again: each night has one, also those in which the clocks change.
func TestOneReportEachNight(t *testing.T) {
	t.Parallel()
	for _, month := range []time.Month{time.March, time.October} {
		t.Run(month.String(), func(t *testing.T) {
			t.Parallel()
			nights(t, month)
		})
	}
}

// nights goes through those from the 22nd of a month on: the clocks change on its last Sunday.
func nights(t *testing.T, month time.Month) {
	test := rmqtest.New(t, rmq.Config{})
	zone, err := time.LoadLocation(nightly.Zone)
	if err != nil {
		t.Fatal(err)
	}
	year := test.Now().Year() + 1
	to := func(night, hour int) time.Time { // of the night that ends the 22nd
		at := time.Date(year, month, 22+night, hour, 0, 0, 0, zone)
		test.Advance(at.Sub(test.Now()))
		return at
	}
	const form = "01-02 15:04"
	var mu sync.Mutex
	var got, want []string
	last, writers := 0, map[int]bool{}
	write := func(by string, d *rmq.Delivery) {
		mu.Lock()
		defer mu.Unlock()
		last, _ = strconv.Atoi(by)
		got, writers[last] = append(got, d.Due.In(zone).Format(form)), true
	}

	var instances [3]*rmq.Client
	start := func(n int) {
		client, err := rmq.New(rmq.Config{Redis: test.Redis()})
		if err != nil {
			t.Fatal(err)
		}
		x := instance{strconv.Itoa(n), client, write}
		if err := x.start(t.Context(), nightly); err != nil {
			t.Fatal(err)
		}
		instances[n] = client
	}
	stop := func(n int) {
		if err := instances[n].Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	to(0, 12)
	for n := range instances {
		start(n)
	}
	nights := night.Times(12, 30)
	for night := 1; night <= nights; night++ {
		want = append(want, to(night, 3).Format(form))
		to(night, 12)
		if night%3 == 0 {
			mu.Lock()
			n := last
			mu.Unlock()
			stop(n)
			start(n)
		}
	}
	for n := range instances {
		stop(n)
	}
	if !slices.Equal(got, want) || len(writers) < 2 {
		t.Errorf("%d reports by %v in %d nights: %q", len(got), writers, len(want), got)
	}
}
