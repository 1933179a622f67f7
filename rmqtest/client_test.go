package rmqtest_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqtest"
)

func TestAdvanceDeliversWhatBecomesDue(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := rmqtest.New(t, rmq.Config{})
	begin := c.Now()
	topic := rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime}
	var got []string
	must.Do(t, c.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		got = append(got, fmt.Sprintf("%s at %v", d.Content, c.Now().Sub(begin)))
		return nil
	}), rmq.ListenOptions{}))
	must.Do(t, c.Start(ctx))
	send(t, c, topic, rmq.FixedTime{Content: "tomorrow", SlotBasis: "x", At: c.Now().Add(24 * time.Hour)})
	send(t, c, topic, rmq.FixedTime{Content: "soon", SlotBasis: "x", At: c.Now().Add(time.Millisecond)})
	c.Advance(0)
	want(t, got)
	c.Advance(time.Hour)
	want(t, got, "soon at 1ms")
	c.Advance(23*time.Hour - time.Millisecond)
	want(t, got, "soon at 1ms")
	c.Advance(time.Millisecond)
	want(t, got, "soon at 1ms", "tomorrow at 24h0m0s")
}

// What is due in some time, or has been due already, is so by the clock that stands still.
func TestDueByTheFrozenClock(t *testing.T) {
	t.Parallel()
	c := rmqtest.New(t, rmq.Config{})
	topic := rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime}
	var got []string
	if err := c.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		got = append(got, d.Content)
		return nil
	}), rmq.ListenOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := c.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	c.Advance(90 * time.Minute) // away from the clock of this machine
	send := func(m rmq.FixedTime) rmq.Receipt {
		t.Helper()
		r, err := c.Send(context.Background(), topic, m)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := send(rmq.FixedTime{Content: "later", In: time.Hour}); !r.Due.Equal(c.Now().Add(time.Hour)) || r.Past {
		t.Errorf("got %+v", r)
	}
	if r := send(rmq.FixedTime{Content: "past", At: c.Now().Add(-time.Minute)}); !r.Past {
		t.Errorf("got %+v", r)
	}
	for _, step := range []struct {
		by   time.Duration
		want int
	}{{0, 1}, {time.Hour - time.Millisecond, 1}, {time.Millisecond, 2}} {
		if c.Advance(step.by); len(got) != step.want {
			t.Errorf("after %v more: %v", step.by, got)
		}
	}
}

func TestAdvanceWalksThroughRetries(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := rmqtest.New(t, rmq.Config{Backoff: rmq.Schedule(time.Second, time.Minute)})
	begin := c.Now()
	topic := rmq.Topic{Name: "mails", Kind: rmq.KindRangeMerge}
	var got []string
	must.Do(t, c.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		got = append(got, fmt.Sprintf("%d at %v", d.Attempt, c.Now().Sub(begin)))
		if d.Attempt < 4 {
			return errors.New("not yet")
		}
		return nil
	}), rmq.ListenOptions{}))
	must.Do(t, c.Start(ctx))
	send(t, c, topic, rmq.RangeMerge{Content: "x", Range: 10 * time.Second})
	c.Advance(time.Hour)
	want(t, got, "1 at 10s", "2 at 11s", "3 at 1m11s", "4 at 2m11s")
}

// Each time of a plan comes on the way, also where the clocks change, and of those that nobody was
// there for comes one.
func TestAdvanceWalksPlans(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := rmqtest.New(t, rmq.Config{})
	topic := rmq.Topic{Name: "reports", Kind: rmq.KindFixedTime}
	zone, err := time.LoadLocation("Europe/Berlin")
	must.Do(t, err)
	year := c.Now().Year() + 1
	to := func(month, day, hour, minute int) {
		t.Helper()
		c.Advance(time.Date(year, time.Month(month), day, hour, minute, 0, 0, zone).Sub(c.Now()))
	}
	to(3, 1, 12, 0)
	must.Do(t, c.Every(ctx, topic, rmq.Recurring{Name: "nightly", Content: "report", Cron: "30 2 * * *", Zone: "Europe/Berlin"}))
	var got []string
	must.Do(t, c.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		got = append(got, fmt.Sprintf("%s + %v", d.Due.In(zone).Format("01-02 15:04"), c.Now().Sub(d.Due)))
		return nil
	}), rmq.ListenOptions{Due: true}))
	to(3, 4, 12, 0)
	must.Do(t, c.Start(ctx))
	c.Advance(0)
	want(t, got, "03-02 02:30 + 57h30m0s")
	to(3, 5, 2, 29)
	want(t, got, "03-02 02:30 + 57h30m0s")
	to(3, 5, 2, 30)
	want(t, got, "03-02 02:30 + 57h30m0s", "03-05 02:30 + 0s")
	to(4, 1, 0, 0)
	summer := 0
	for n, at := range got[1:] {
		if at == fmt.Sprintf("03-%02d 03:00 + 0s", 5+n) {
			summer++ // the clock goes from 02:00 to 03:00
		} else if at != fmt.Sprintf("03-%02d 02:30 + 0s", 5+n) {
			t.Errorf("%s comes, 1+%d", at, n)
		}
	}
	if len(got) != 1+27 || summer != 1 {
		t.Errorf("%v", got)
	}
}

// What explains a delivery goes by the moved clock, too.
func TestDeliveriesAreExplained(t *testing.T) {
	t.Parallel()
	c := rmqtest.New(t, rmq.Config{Backoff: rmq.Schedule(time.Minute)})
	topic := rmq.Topic{Name: "mails", Kind: rmq.KindFixedTime}
	at := c.Now().Add(time.Hour).Truncate(time.Millisecond)
	var got []string
	must.Do(t, c.Listen(topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		if d.Attempt == 1 {
			got = append(got, fmt.Sprintf("due %v late", c.Now().Sub(d.Due)))
			return errors.New("not yet")
		}
		got = append(got, fmt.Sprintf("%s %v ago", d.LastError, c.Now().Sub(d.FirstFailure)))
		return nil
	}), rmq.ListenOptions{Due: true}))
	must.Do(t, c.Start(context.Background()))
	send(t, c, topic, rmq.FixedTime{Content: "x", At: at})
	c.Advance(at.Sub(c.Now()))
	c.Advance(time.Minute)
	want(t, got, "due 0s late", "not yet 1m0s ago")
}

func send(t *testing.T, c *rmqtest.Client, topic rmq.Topic, m rmq.Message) {
	t.Helper()
	if _, err := c.Send(context.Background(), topic, m); err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// After a Pushback nothing of the topic begins until the rest is over: not what is behind the message, and
// not what is sent then.
func TestPushbackRests(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	c := rmqtest.New(t, rmq.Config{})
	begin := c.Now()
	var got []string
	rests := []time.Duration{10 * time.Second, 20 * time.Second}
	topic, other := rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime}, rmq.Topic{Name: "others", Kind: rmq.KindFixedTime}
	handle := rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		got = append(got, fmt.Sprintf("%s at %v, delivery %d", d.Content, c.Now().Sub(begin), d.Attempt))
		if d.Content == "a" && len(rests) > 0 {
			rest := rests[0]
			rests = rests[1:]
			return rmq.Pushback(rest, nil)
		}
		return nil
	})
	must.Do(t, c.Listen(topic, handle, rmq.ListenOptions{Concurrency: 1}))
	must.Do(t, c.Listen(other, handle, rmq.ListenOptions{Concurrency: 1}))
	must.Do(t, c.Start(ctx))
	send(t, c, topic, rmq.FixedTime{Content: "a", SlotBasis: "x", At: c.Now()})
	send(t, c, topic, rmq.FixedTime{Content: "b", SlotBasis: "x", At: c.Now().Add(time.Millisecond)})
	c.Advance(time.Millisecond)
	want(t, got, "a at 0s, delivery 1")
	send(t, c, topic, rmq.FixedTime{Content: "c", SlotBasis: "y", At: c.Now()})
	send(t, c, other, rmq.FixedTime{Content: "of another topic", At: c.Now()})
	c.Advance(0)
	want(t, got, "a at 0s, delivery 1", "of another topic at 1ms, delivery 1")
	c.Advance(10*time.Second - 2*time.Millisecond)
	want(t, got, "a at 0s, delivery 1", "of another topic at 1ms, delivery 1")
	got = nil
	c.Advance(time.Millisecond)
	if !slices.Contains(got, "a at 10s, delivery 1") { // and is pushed back again; what was begun before that goes on
		t.Errorf("%q", got)
	}
	c.Advance(20 * time.Second)
	slices.Sort(got)
	if len(got) != 4 || got[0] != "a at 10s, delivery 1" || got[1] != "a at 30s, delivery 1" || got[2][:2] != "b " || got[3][:2] != "c " {
		t.Errorf("%q", got)
	}
}
