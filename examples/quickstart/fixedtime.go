package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/rmq"
)

const clock = "15:04:05.000"

// mail is a delivery at a time.
type mail struct {
	name string
	at   time.Time
}

// fixedTime sends messages that are due soon, the last due first, and measures
// how late they come.
func fixedTime(ctx context.Context, s *store.Store) (result measured, err error) {
	const count, first, apart = 20, 400 * time.Millisecond, 25 * time.Millisecond
	mails := rmq.Topic{Name: "mails", Kind: rmq.KindFixedTime}
	now, err := serverClock(ctx, s)
	if err != nil {
		return result, err
	}
	handled := make(chan mail, 2*count)
	worker, err := startWorker(ctx, s, rmq.Config{}, mails, func(_ context.Context, d *rmq.Delivery) error {
		handled <- mail{d.Content, now()}
		return nil
	})
	if err != nil {
		return result, err
	}
	defer stopWorker(worker, &err)

	due := map[string]time.Time{}
	begin := now().Truncate(time.Millisecond)
	for i := count - 1; i >= 0; i-- {
		name := fmt.Sprintf("mail %d", i+1)
		due[name] = begin.Add(first + time.Duration(i)*apart)
		if _, err := worker.Send(ctx, mails, rmq.FixedTime{Content: name, At: due[name]}); err != nil {
			return result, err
		}
	}
	deliveries, err := collect(ctx, handled, count)
	if err != nil {
		return result, err
	}
	early, late := 0, make([]time.Duration, 0, count)
	for i, d := range deliveries {
		by := d.at.Sub(due[d.name])
		if by < 0 {
			early++
		}
		late = append(late, by)
		if i%5 == 0 {
			say("%-7s  due at %s, delivered %s later", d.name, due[d.name].Format(clock), ms(by))
		}
	}
	slices.Sort(late)
	say("… and so on: %d mails, half of them less than %s late, the latest %s.", count, ms(late[count/2]), ms(late[count-1]))
	return measured{
		text: fmt.Sprintf("%d delivered, %d early; late p50 %s, max %s", len(late), early, ms(late[count/2]), ms(late[count-1])),
		ok:   early == 0,
	}, nil
}

// reschedule sends a message again, with another time.
func reschedule(ctx context.Context, s *store.Store) (result measured, err error) {
	reminders := rmq.Topic{Name: "reminders", Kind: rmq.KindFixedTime}
	now, err := serverClock(ctx, s)
	if err != nil {
		return result, err
	}
	handled := make(chan mail, 10)
	worker, err := startWorker(ctx, s, rmq.Config{}, reminders, func(_ context.Context, d *rmq.Delivery) error {
		handled <- mail{d.Content, now()}
		return nil
	})
	if err != nil {
		return result, err
	}
	defer stopWorker(worker, &err)

	begin := now().Truncate(time.Millisecond)
	times := []time.Time{begin.Add(500 * time.Millisecond), begin.Add(900 * time.Millisecond)}
	for i, at := range times {
		receipt, err := worker.Send(ctx, reminders, rmq.FixedTime{Content: "remind Ann", At: at})
		if err != nil {
			return result, err
		}
		say("%s: sent \"remind Ann\" for %s: %s", []string{"First", "Again"}[i], at.Format(clock), receipt.Outcome)
	}
	deliveries, err := collect(ctx, handled, 1)
	if err != nil {
		return result, err
	}
	by, more := deliveries[0].at.Sub(times[1]), drain(handled)
	say("Delivered at %s, %s after the second time, and not at the first.", deliveries[0].at.Format(clock), ms(by))
	return measured{text: fmt.Sprintf("%d delivery, %s late", 1+more, ms(by)), ok: by >= 0 && more == 0}, nil
}

// serverClock returns the clock that due times follow: that of the Redis
// server, as exactly as one question can tell.
func serverClock(ctx context.Context, s *store.Store) (func() time.Time, error) {
	asked := time.Now()
	told, err := s.Redis.Time(ctx).Result()
	if err != nil {
		return nil, err
	}
	return func() time.Time { return told.Add(time.Since(asked)) }, nil
}
