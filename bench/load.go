package main

import (
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/servers"
	"github.com/slotmq/go-rmq/rmq"
)

// load is messages that are sent at a fixed rate, however fast they are handled.
type load struct {
	slots    int
	rate     int // a second: below 1000, or a multiple of it
	messages int
	oneIn    int           // so many is urgent; 0: none of them
	takes    time.Duration // to handle one
}

// pace is when message i is to be sent: rate/1000 each millisecond, or one at a
// time.
func (l load) pace(i int) time.Duration {
	together := max(1, l.rate/1000)
	return time.Duration(i/together*together) * time.Second / time.Duration(l.rate)
}

func (l load) isUrgent(i int) bool { return l.oneIn > 0 && i%l.oneIn == 0 }

// offered is what became of a load.
type offered struct {
	servers.Sample
	*arrivals
	behind latencies // of the pace, when Send was called
}

// warmup is how many messages go through client and server first, so that the
// connections are open, the scripts known and the slots in work.
const warmup = 100

// offer sends a load and handles it. Each message has a goroutine that calls Send
// when its time has come, so whoever is slow, the client, Redis or the worker,
// holds up nobody's schedule, and the wait counts for every message it delays.
func (b *bench) offer(p servers.Place, l load) (result offered, err error) {
	if err := p.Empty(); err != nil {
		return result, err
	}
	topic := rmq.Topic{Name: "bench", Kind: rmq.KindPriority, Slots: l.slots}
	// One string, or the garbage collector would go through the bench's payload
	// while it measures.
	text := strings.Join(contents(max(l.messages, warmup), b.payload), "")
	var noted atomic.Pointer[arrivals]
	rdb := p.Dial()[0]
	defer rdb.Close()
	client, err := listening(rdb, topic, func(d *rmq.Delivery) {
		noted.Load().note(d.Content)
		if l.takes > 0 {
			time.Sleep(l.takes)
		}
	})
	if err != nil {
		return result, err
	}
	send := func(i int) error {
		m := rmq.Priority{Content: text[i*b.payload : (i+1)*b.payload], Priority: 100}
		if l.isUrgent(i) {
			m.Priority = 1000
		}
		_, err := client.Send(ctx, topic, m)
		return err
	}
	noted.Store(newArrivals(warmup, time.Now()))
	if err = client.Start(ctx); err == nil {
		err = each(warmup, warmup, send)
	}
	if err == nil {
		err = noted.Load().wait()
	}
	if err != nil {
		return result, err
	}
	result.behind = make(latencies, l.messages)
	result.Sample, err = p.Measure(l.messages, func() error {
		begin := time.Now()
		result.arrivals = newArrivals(l.messages, begin)
		noted.Store(result.arrivals)
		err := play(l.messages, l.pace, begin, func(i int) error {
			result.behind[i] = time.Since(begin) - l.pace(i)
			return send(i)
		})
		if err == nil {
			err = result.wait()
		}
		return err
	})
	slices.Sort(result.behind)
	if err == nil {
		err = client.Close(ctx)
	}
	if err == nil {
		err = result.check()
	}
	return result, err
}

// play has each of n messages sent at its time, and returns when all are.
func play(n int, pace func(i int) time.Duration, begin time.Time, send func(i int) error) (first error) {
	var all sync.WaitGroup
	var once sync.Once
	for i := range n {
		sleep(pace(i) - time.Since(begin))
		all.Go(func() {
			if err := send(i); err != nil {
				once.Do(func() { first = err })
			}
		})
	}
	all.Wait()
	return first
}

// poisson are random times, so many a second.
func poisson(random *rand.Rand, rate float64, during time.Duration) (times []time.Duration) {
	pause := func() time.Duration { return time.Duration(random.ExpFloat64() / rate * float64(time.Second)) }
	for at := pause(); at < during; at += pause() {
		times = append(times, at)
	}
	return times
}

// sleep is precise. time.Sleep wakes up to a millisecond late in a process that
// has nothing else to do.
func sleep(d time.Duration) {
	if d > 0 {
		wait := syscall.NsecToTimespec(int64(d))
		_ = syscall.Nanosleep(&wait, nil)
	}
}
