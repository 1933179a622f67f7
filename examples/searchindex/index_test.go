package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqtest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// A page that is saved every second is indexed after 30 s, again and again, with all saves so far, and
// when it is quiet after 2 s.
func TestIndex(t *testing.T) {
	t.Parallel()
	client := rmqtest.New(t, rmq.Config{})
	begin := client.Now()
	var story []string
	x := newIndex(client.Client, 2*time.Second, 30*time.Second, func(d *rmq.Delivery, save int) {
		story = append(story, fmt.Sprintf("%v %s %d", client.Now().Sub(begin), d.Content, save))
	})
	if err := x.listen(); err != nil {
		t.Fatal(err)
	}
	if err := client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	save := func(page string, want time.Duration) {
		t.Helper()
		receipt, err := x.save(t.Context(), page)
		if due := receipt.Due.Sub(begin); err != nil || due != want {
			t.Errorf("after %v: due after %v, not %v (%v)", client.Now().Sub(begin), due, want, err)
		}
	}
	save("contact", 2*time.Second)
	for i := range 70 {
		at := time.Duration(i) * time.Second
		save("news", min(at+2*time.Second, at.Truncate(30*time.Second)+30*time.Second))
		client.Advance(time.Second)
	}
	client.Advance(time.Minute)
	// In seconds 30 and 60 the index comes before the save, which begins the next wait.
	want := []string{"2s contact 1", "30s news 30", "1m0s news 60", "1m11s news 70"}
	if !slices.Equal(story, want) {
		t.Errorf("indexed: %q, not %q", story, want)
	}
}

// The same on a real Redis, whose clock goes on by itself: no save is due later than the ceiling after
// the first of its wait, or earlier than it should; none is in the index early, and none is left out.
func TestIndexOnRedis(t *testing.T) {
	t.Parallel()
	const quiet, ceiling = 50 * time.Millisecond, 200 * time.Millisecond
	client, err := rmq.New(rmq.Config{Redis: servertest.Redis(t).Client(t)})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var builds []time.Time
	built := make(chan struct{}, 100)
	x := newIndex(client, quiet, ceiling, func(*rmq.Delivery, int) {
		mu.Lock()
		builds = append(builds, time.Now())
		mu.Unlock()
		built <- struct{}{}
	})
	if err := x.listen(); err != nil {
		t.Fatal(err)
	}
	if err := client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	const ms = time.Millisecond
	var first time.Time // send of this wait, or up to 1 ms later: what is due is rounded up
	var due []time.Time // of each wait
	ended := 0
	for ended < 3 {
		before := time.Now()
		receipt, err := x.save(t.Context(), "news")
		after := time.Now()
		if err != nil {
			t.Fatal(err)
		}
		if receipt.Outcome == rmq.Stored {
			first, due = receipt.Due.Add(-quiet), append(due, receipt.Due)
		}
		latest := first.Add(ceiling)
		moved := !receipt.Due.Before(before.Add(quiet)) && !receipt.Due.After(after.Add(quiet+ms)) && !receipt.Due.After(latest)
		stopped := receipt.Due.Equal(latest) || receipt.Due.Equal(latest.Add(-ms))
		overdue := receipt.Due.Equal(due[len(due)-1]) && !receipt.Due.After(after)
		if !moved && !stopped && !overdue {
			t.Fatalf("sent between %v and %v, first %v: %+v", before, after, first, receipt)
		}
		due[len(due)-1] = receipt.Due
		select {
		case <-built:
			ended++
		default:
		}
	}
	for ; ended < len(due); ended++ {
		await.Signal(t, "the next build", built)
	}
	if err := client.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	if len(builds) != len(due) || !x.upToDate() {
		t.Fatalf("indexed %d times, not %d: %v of %v", len(builds), len(due), x.found, x.pages)
	}
	for i, at := range builds {
		if at.Before(due[i]) {
			t.Errorf("build %d: %v before it is due", i, due[i].Sub(at))
		}
	}
}
