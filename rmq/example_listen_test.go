package rmq_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// A handler whose time is over gets a cancelled context, and its message comes again.
func ExampleListenOptions_timeout() {
	client := open(rmq.Config{})
	defer client.close()

	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}
	client.listen(jobs, func(ctx context.Context, d *rmq.Delivery) error {
		if d.Attempt == 1 {
			<-ctx.Done() // it hangs
			fmt.Println("cancelled:", errors.Is(context.Cause(ctx), rmq.ErrTimeout))
			return ctx.Err()
		}
		fmt.Println("done in delivery", d.Attempt)
		return nil
	}, rmq.ListenOptions{Timeout: 20 * time.Millisecond, Backoff: rmq.Schedule(time.Minute)})
	client.send(jobs, rmq.Priority{Content: "report", Priority: 100})
	client.Advance(time.Minute)
	// Output:
	// cancelled: true
	// done in delivery 2
}

// A handler that cannot do anything yet puts its message back. That is no failure: it costs no
// delivery, and the message keeps its priority.
func ExampleLater() {
	client := open(rmq.Config{})
	defer client.close()

	opens := client.Now().Add(90 * time.Minute)
	orders := rmq.Topic{Name: "orders", Kind: rmq.KindPriority}
	client.listen(orders, func(_ context.Context, d *rmq.Delivery) error {
		if client.Now().Before(opens) {
			fmt.Println("the shop is closed")
			return fmt.Errorf("the shop is closed: %w", rmq.Later(time.Hour))
		}
		fmt.Printf("%s with priority %d: delivery %d\n", d.Content, d.Priority, d.Attempt)
		return nil
	}, rmq.ListenOptions{})
	client.send(orders, rmq.Priority{Content: "order 4711", Priority: 900})
	client.Advance(2 * time.Hour)
	// Output:
	// the shop is closed
	// the shop is closed
	// order 4711 with priority 900: delivery 1
}

// With Parallel, messages of one slot run at the same time.
func ExampleListenOptions_parallel() {
	client := open(rmq.Config{})
	defer client.close()

	pictures := rmq.Topic{Name: "pictures", Kind: rmq.KindPriority, Slots: 1}
	var both sync.WaitGroup // is done when both run
	both.Add(2)
	client.send(pictures, rmq.Priority{Content: "a.png", Priority: 100})
	client.send(pictures, rmq.Priority{Content: "b.png", Priority: 100})
	client.listen(pictures, func(context.Context, *rmq.Delivery) error {
		both.Done()
		both.Wait()
		return nil
	}, rmq.ListenOptions{Parallel: true})
	client.Advance(0)
	fmt.Println("both ran at once")
	// Output: both ran at once
}

func render() { runtime.Gosched() } // it takes a while

// At most two handlers of this topic run at once, so that others keep their places.
func ExampleListenOptions_concurrency() {
	client := open(rmq.Config{Concurrency: 100})
	defer client.close()

	reports := rmq.Topic{Name: "reports", Kind: rmq.KindPriority}
	var mu sync.Mutex
	running, most := 0, 0
	client.listen(reports, func(context.Context, *rmq.Delivery) error {
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		render()
		mu.Lock()
		running--
		mu.Unlock()
		return nil
	}, rmq.ListenOptions{Concurrency: 2})
	for n := range 50 {
		client.send(reports, rmq.Priority{Content: fmt.Sprint("report ", n), Priority: 100})
	}
	client.Advance(0)
	fmt.Println("never more than two:", most <= 2)
	// Output: never more than two: true
}

// Messages of a slot are handled together, by one write for all of them. It fails for one,
// which comes again.
func ExampleClient_ListenBatch() {
	client := open(rmq.Config{})
	defer client.close()

	prices := rmq.Topic{Name: "prices", Kind: rmq.KindPriority, Slots: 1}
	save := func(_ context.Context, all []*rmq.Delivery) []error {
		errs := make([]error, len(all))
		for i, d := range all {
			if d.Content == "product 3" && d.Attempt == 1 {
				errs[i] = errors.New("its row is locked")
			}
		}
		fmt.Println("written together:", len(all))
		return errs
	}
	for n := range 5 {
		client.send(prices, rmq.Priority{Content: fmt.Sprint("product ", n), Priority: 100})
	}
	err := client.ListenBatch(prices, rmq.BatchFunc(func(ctx context.Context, b *rmq.Batch) error {
		for i, err := range save(ctx, b.Messages) { // one write for all of them
			if err != nil {
				b.Fail(i, err)
			}
		}
		return nil // the others are done
	}), rmq.BatchOptions{Most: 100, Gather: 50 * time.Millisecond})
	check(err)
	check(client.Start(context.Background()))
	client.Advance(time.Hour)
	// Output:
	// written together: 5
	// written together: 1
}

// Due says how late a message is.
func ExampleListenOptions_due() {
	client := open(rmq.Config{})
	defer client.close()

	orders := rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime}
	client.send(orders, rmq.FixedTime{Content: "order 4711", In: time.Minute})
	client.Advance(time.Hour) // no worker runs
	client.listen(orders, func(_ context.Context, d *rmq.Delivery) error {
		fmt.Println(d.Content, "is late by", client.Now().Sub(d.Due))
		return nil
	}, rmq.ListenOptions{Due: true})
	client.Advance(0)
	// Output: order 4711 is late by 59m0s
}

// A code that comes more than a minute late is of no use any more: it is dead, or with
// ExpiredDrop gone.
func ExampleListenOptions_maxLate() {
	client := open(rmq.Config{})
	defer client.close()

	codes := rmq.Topic{Name: "codes", Kind: rmq.KindFixedTime, Slots: 1}
	for i, user := range []string{"ann", "bob", "eve"} {
		client.send(codes, rmq.FixedTime{Content: user, In: time.Duration(i+1) * time.Minute})
	}
	client.Advance(3 * time.Minute) // no worker runs
	client.listen(codes, func(_ context.Context, d *rmq.Delivery) error {
		fmt.Println(d.Content, "is late by", client.Now().Sub(d.Due))
		return nil
	}, rmq.ListenOptions{MaxLate: time.Minute})
	client.Advance(0)
	// Output:
	// bob is late by 1m0s
	// eve is late by 0s
}

// Ten deliveries with the pauses that you give, and then the message is dead. A pause of 0
// is the shortest there is, a millisecond.
func ExampleListenOptions_maxAttempts() {
	client := open(rmq.Config{})
	defer client.close()

	const m, h = time.Minute, time.Hour
	payments := rmq.Topic{Name: "payments", Kind: rmq.KindFixedTime}
	last := client.Now()
	client.listen(payments, func(_ context.Context, d *rmq.Delivery) error {
		fmt.Println(d.Attempt, client.Now().Sub(last))
		last = client.Now()
		return errors.New("the bank does not answer")
	}, rmq.ListenOptions{MaxAttempts: 10, Backoff: rmq.Schedule(0, 0, 2*m, 10*m, 10*m, 1*h, 2*h, 6*h, 15*h)})
	client.send(payments, rmq.FixedTime{Content: "payment 4711", In: time.Millisecond})
	client.Advance(1000 * h)
	// Output:
	// 1 1ms
	// 2 1ms
	// 3 1ms
	// 4 2m0s
	// 5 10m0s
	// 6 10m0s
	// 7 1h0m0s
	// 8 2h0m0s
	// 9 6h0m0s
	// 10 15h0m0s
}

// A failure that no retry can mend: the message is dead at once. The command rmq lists
// dead messages and requeues them.
func ExampleDead() {
	client := open(rmq.Config{})
	defer client.close()

	mails := rmq.Topic{Name: "mails", Kind: rmq.KindPriority}
	client.listen(mails, func(_ context.Context, d *rmq.Delivery) error {
		fmt.Println("delivery", d.Attempt)
		return rmq.Dead(errors.New("no such address"))
	}, rmq.ListenOptions{})
	client.send(mails, rmq.Priority{Content: "invoice 7", Priority: 100})
	client.Advance(24 * time.Hour)
	// Output: delivery 1
}

// The other side said when to come again.
func ExampleRetryAfter() {
	client := open(rmq.Config{})
	defer client.close()

	mails := rmq.Topic{Name: "mails", Kind: rmq.KindPriority}
	start := client.Now()
	client.listen(mails, func(_ context.Context, d *rmq.Delivery) error {
		fmt.Println("after", client.Now().Sub(start))
		if d.Attempt == 1 {
			return rmq.RetryAfter(10*time.Minute, errors.New("too many requests"))
		}
		return nil
	}, rmq.ListenOptions{})
	client.send(mails, rmq.Priority{Content: "invoice 7", Priority: 100})
	client.Advance(time.Hour)
	// Output:
	// after 0s
	// after 10m0s
}

// A retry says what went wrong before.
func ExampleDelivery() {
	client := open(rmq.Config{Backoff: rmq.Schedule(time.Minute)})
	defer client.close()

	mails := rmq.Topic{Name: "mails", Kind: rmq.KindPriority}
	client.listen(mails, func(_ context.Context, d *rmq.Delivery) error {
		if d.Attempt > 1 {
			fmt.Printf("delivery %d of %q: %s, %v ago\n", d.Attempt, d.Content, d.LastError, client.Now().Sub(d.FirstFailure))
			return nil
		}
		return errors.New("the mail server is away")
	}, rmq.ListenOptions{})
	client.send(mails, rmq.Priority{Content: "invoice 7", Priority: 100})
	client.Advance(time.Minute)
	// Output: delivery 2 of "invoice 7": the mail server is away, 1m0s ago
}

// Close lets running handlers finish until its context ends.
func ExampleClient_Close() {
	client := open(rmq.Config{})
	defer client.close()

	jobs := rmq.Topic{Name: "jobs", Kind: rmq.KindPriority}
	began, finish := make(chan struct{}), make(chan struct{})
	client.listen(jobs, func(context.Context, *rmq.Delivery) error {
		close(began)
		<-finish
		fmt.Println("done")
		return nil
	}, rmq.ListenOptions{})
	client.send(jobs, rmq.Priority{Content: "report", Priority: 100})
	<-began
	close(finish)

	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	fmt.Println(client.Close(ctx))
	// Output:
	// done
	// <nil>
}
