package webtest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/nighttest"
	"github.com/slotmq/go-rmq/rmq"
)

// shop is what docs/CONSOLE.md shows: the night of docs/OPERATIONS.md, and beside it the usual work of a shop, with something in
// each state.
type shop struct {
	t         *testing.T
	night     *nighttest.Night
	client    *rmq.Client // sends, and is worker app1
	inspector *inspector.Inspector
	stuck     map[string]chan struct{} // by the contents whose handlers run until it is closed
}

// The topics of a shop, beside those of the night.
var (
	invoices = rmq.Topic{Name: "invoices", Kind: rmq.KindFixedTime, Slots: 32} // due at their times; some are retried
	mails    = rmq.Topic{Name: "mails", Kind: rmq.KindPriority, Slots: 8}      // limited, and so they wait
	stocks   = rmq.Topic{Name: "stocks", Kind: rmq.KindRangeMerge, Slots: 16}  // merge
	nightly  = rmq.Topic{Name: "reports", Kind: rmq.KindFixedTime, Slots: 1}   // recurring messages
	exports  = rmq.Topic{Name: "exports", Kind: rmq.KindFixedTime, Slots: 4}   // a part is paused
)

const onPaper = 5 // invoices that cannot be printed now

// newShop returns when all is as it should be.
func newShop(t *testing.T, rdb redis.UniversalClient) *shop {
	t.Helper()
	s := &shop{t: t, inspector: inspectorOf(t, rdb), stuck: map[string]chan struct{}{}}
	for _, content := range []string{"invoice 88103", "invoice 88204", "invoice 88219"} {
		s.stuck[content] = make(chan struct{})
	}
	s.night = nighttest.Begin(t, rdb)
	s.client = s.worker(rdb, "app1", invoices, mails, exports)
	s.worker(rdb, "app2", invoices, mails, exports)
	s.worker(rdb, "app3", stocks, nightly)
	t.Cleanup(func() { // before the workers are closed, which wait for it
		for _, end := range s.stuck {
			close(end)
		}
	})
	s.send()
	s.await("what fails has failed", func(of inspector.Stats) bool { return of.InFlight == 0 && of.Retrying == onPaper })
	return s
}

// await waits until topic invoices is as it should be.
func (s *shop) await(what string, is func(inspector.Stats) bool) {
	s.t.Helper()
	await.True(s.t, what, func() bool {
		of, err := s.inspector.Stats(ctx, invoices.Name)
		must.Do(s.t, err)
		return is(of)
	})
}

func (s *shop) worker(rdb redis.UniversalClient, name string, topics ...rmq.Topic) *rmq.Client {
	s.t.Helper()
	c, err := rmq.New(rmq.Config{Redis: rdb, Worker: name, Backoff: rmq.Schedule(time.Hour)})
	must.Do(s.t, err)
	s.t.Cleanup(func() { must.Do(s.t, c.Close(ctx)) })
	handle := rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		if end := s.stuck[d.Content]; end != nil {
			<-end
		}
		if d.Topic.Name == invoices.Name && len(d.Content) > len("invoice 88219") {
			return errors.New("the printer is out of paper")
		}
		return nil
	})
	for _, topic := range topics {
		must.Do(s.t, c.Listen(topic, handle, rmq.ListenOptions{NoBreaker: true}))
	}
	must.Do(s.t, c.Start(ctx))
	return c
}

func (s *shop) put(topic rmq.Topic, m rmq.Message) {
	s.t.Helper()
	must.Do(s.t, second(s.client.Send(ctx, topic, m)))
}

func (s *shop) send() {
	s.t.Helper()
	must.Do(s.t, s.inspector.Limit(ctx, mails.Name, inspector.Policy{Rate: 4, For: 12 * time.Hour}))
	must.Do(s.t, second(s.inspector.Pause(ctx, exports.Name, []int{2})))
	number := 88300
	for _, of := range []struct {
		many   int
		within time.Duration
	}{{40, time.Minute}, {160, 10 * time.Minute}, {420, time.Hour}, {900, 24 * time.Hour}, {300, 72 * time.Hour}} {
		for n := range of.many {
			number++
			s.put(invoices, rmq.FixedTime{Content: fmt.Sprint("invoice ", number), In: of.within*time.Duration(n+1)/time.Duration(of.many) + time.Minute/2})
		}
	}
	for n := range onPaper {
		s.put(invoices, rmq.FixedTime{Content: fmt.Sprintf("invoice %d, on paper", 88150+n), At: time.Now()})
	}
	for n := range 60 {
		s.put(exports, rmq.FixedTime{Content: fmt.Sprint("export ", 300+n), In: time.Duration(n+1) * 20 * time.Minute})
	}
	for _, plan := range []rmq.Recurring{
		{Name: "accounts", Content: "accounts of the day", Cron: "0 3 * * *", Zone: "Europe/Berlin"},
		{Name: "stock list", Content: "stock list", Cron: "30 6 * * 1-5", Zone: "Europe/Berlin"},
		{Name: "heartbeat", Content: "heartbeat", Delay: time.Minute, Period: 15 * time.Minute, Repeat: 10_000},
	} {
		must.Do(s.t, s.client.Every(ctx, nightly, plan))
	}
	s.traffic(0)
}

// traffic is what comes in at one time, more and less in waves.
func (s *shop) traffic(step int) {
	s.t.Helper()
	wave := func(most, period int) int {
		return int(float64(most) * (1 + math.Sin(2*math.Pi*float64(step)/float64(period))) / 2)
	}
	if step > 0 {
		for n := range 15 + wave(20, 70) {
			s.put(invoices, rmq.FixedTime{Content: fmt.Sprintf("invoice %d", 91000+step*50+n), In: time.Duration(1+n*n) * time.Minute / 3})
		}
	}
	for n := range 40 + wave(60, 40) {
		s.put(stocks, rmq.RangeMerge{Content: fmt.Sprint("item ", (step*37+n*n)%900), Range: 2 * time.Minute})
	}
	for n := range 50 + wave(60, 50) {
		s.put(mails, rmq.Priority{Content: fmt.Sprintf("mail %d-%d", step, n), Priority: int64(100 + n%10*100)})
	}
}

// getBusy has some messages be handled while it is looked at, and the dead be as old as the document says.
func (s *shop) getBusy() {
	s.t.Helper()
	for content := range s.stuck {
		s.put(invoices, rmq.FixedTime{Content: content, At: time.Now()})
	}
	s.await("some are in flight", func(of inspector.Stats) bool { return of.InFlight >= len(s.stuck) })
	s.night.Age(s.t)
}

// goOn lets the shop be open for so long, as its history shows then.
func (s *shop) goOn(long time.Duration) {
	s.t.Helper()
	const each = 15 * time.Second
	again := time.NewTicker(each)
	defer again.Stop()
	for step := range int(long / each) {
		<-again.C
		s.traffic(step + 1)
	}
}
