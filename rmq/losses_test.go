package rmq_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/inspector/plans"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// dues are the times of the messages that were handled, by their contents.
type dues struct {
	mu sync.Mutex
	of map[string][]time.Time
}

func (d *dues) add(m *rmq.Delivery) {
	if m.Due.IsZero() { // it was handled before, and Redis has not heard of that
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.of[m.Content] = append(d.of[m.Content], m.Due)
}

// since reports whether a message of each plan was handled that was due after a moment.
func (d *dues) since(moment time.Time, count int) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	late := 0
	for _, all := range d.of {
		if all[len(all)-1].After(moment) {
			late++
		}
	}
	return late == count
}

// Redis loses everything, or comes back with the state of some time ago, again and again, under three
// clients that have declared the same 16 plans. Each goes on, at its times. Nothing is sent twice, but for
// one message of each plan and loss, and what a Redis of some time ago has, and was handled since.
func TestPlansThroughLosses(t *testing.T) {
	t.Parallel()
	const count = 16
	ctx := context.Background()
	server := servertest.Redis(t)
	admin := server.Client(t)
	topic := rmq.Topic{Name: "reports", Kind: rmq.KindFixedTime, Slots: 16}
	d := &dues{of: map[string][]time.Time{}}
	for range 3 {
		client := opened(t, rmq.Config{Redis: server.Client(t), SafetyLook: time.Second})
		rmq.LookEach(client, 50*time.Millisecond)
		must.Do(t, client.Listen(topic, rmq.ListenerFunc(func(_ context.Context, m *rmq.Delivery) error {
			d.add(m)
			return nil
		}), rmq.ListenOptions{Due: true}))
		begin(t, client)
		for i := range count {
			must.Do(t, client.Every(ctx, topic, rmq.Recurring{Name: fmt.Sprint("plan ", i), Content: fmt.Sprint("report ", i), Period: time.Duration(i+3) * 100 * time.Millisecond}))
		}
	}
	rules := map[string]plans.Plan{}
	for _, p := range plansOf(t, opened(t, rmq.Config{Redis: admin}), topic) {
		rules[p.Content] = p
	}
	goesOn := func(what string) {
		t.Helper()
		now := time.Now()
		await.True(t, what+": each plan goes on", func() bool { return d.since(now, count) })
	}
	goesOn("at first")
	losses := night.Times(2, 30)
	for range losses {
		must.Do(t, admin.FlushAll(ctx).Err())
		goesOn("after Redis was emptied")

		must.Do(t, admin.Save(ctx).Err())
		goesOn("after Redis was saved")
		server.Kill()
		server.Restart(t)
		goesOn("after Redis came back with an older state")
	}

	d.mu.Lock()
	defer d.mu.Unlock()
	for content, all := range d.of {
		p, twice, seen := rules[content], 0, map[time.Time]bool{}
		for _, due := range all {
			if due.Sub(p.Set)%p.Period != 0 {
				t.Errorf("%s is due at %v, which is no time of each %v from %v on", content, due, p.Period, p.Set)
			}
			if seen[due] {
				twice++
			}
			seen[due] = true
		}
		t.Logf("%s: %d, of which %d were sent once more", content, len(all), twice)
		if twice > 4*losses { // one of a Redis that was emptied; of one that came back what was in flight, what waited, and what was planned
			t.Errorf("%s was sent %d times more than its times", content, twice)
		}
	}
}
