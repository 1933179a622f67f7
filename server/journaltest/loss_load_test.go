package journaltest

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// Processes that send and handle messages of all kinds, and write down what they do.

const (
	sending proctest.Kind = "sending" // a send begins
	stored  proctest.Kind = "stored"  // and has returned nil: the note is its outcome
	told    proctest.Kind = "told"    // an observer gets ends: contents, one each line
	robbed  proctest.Kind = "robbed"  // and that a batch was overtaken
)

// Words in a content tell the handler what to do with it.
const (
	once     = "once"  // sent once
	failing  = "fails" // fails on its first attempt
	deadly   = "dies"  // is declared dead
	lossHot  = 60      // contents that are sent again and again
	lossSlot = 4       // slots of each topic
)

// lossTopics are those of a test.
func lossTopics(prefix string) (fixed, priority, merge, literal rmq.Topic) {
	topic := func(name string, kind rmq.Kind) rmq.Topic {
		return rmq.Topic{Name: prefix + name, Kind: kind, Slots: lossSlot}
	}
	fixed, priority = topic("fixed", rmq.KindFixedTime), topic("priority", rmq.KindPriority)
	merge, literal = topic("merge", rmq.KindRangeMerge), topic("literal", rmq.KindRangeMerge)
	priority.Notes, literal.Literal = true, true
	return fixed, priority, merge, literal
}

// message is the one of a number, of all kinds in turn.
func (j lossJob) message(i int) (rmq.Topic, rmq.Message) {
	fixed, priority, merge, literal := lossTopics(j.Topics)
	name := fmt.Sprintf("%s-%d", j.Name, i)
	hot := fmt.Sprintf("hot %d", rand.IntN(lossHot))
	at := time.Now().Add(rand.N(time.Second))
	switch i % 8 {
	case 0:
		return fixed, rmq.FixedTime{Content: name + " " + once, At: at}
	case 1:
		return priority, rmq.Priority{Content: name + " " + once, Priority: 20 + rand.Int64N(50), TTL: time.Hour, Headers: map[string]string{"of": name}}
	case 2:
		return merge, rmq.RangeMerge{Content: hot, Range: 300 * time.Millisecond}
	case 3:
		return literal, rmq.RangeMerge{Content: hot, Range: 300 * time.Millisecond}
	case 4:
		return merge, rmq.RangeMerge{Content: hot + " moves", Range: 200 * time.Millisecond, Extend: true, Ceiling: time.Second}
	case 5:
		return fixed, rmq.FixedTime{Content: name + " " + once, At: at, Unique: time.Hour}
	case 6:
		return priority, rmq.Priority{Content: name + " " + failing, Priority: 20 + rand.Int64N(50)}
	}
	if i%80 == 7 {
		return fixed, rmq.FixedTime{Content: name + " " + deadly, At: at}
	}
	return literal, rmq.RangeMerge{Content: name + " " + once, Range: rand.N(time.Second)}
}

// send sends messages until it is asked to stop.
func (j lossJob) send(ctx context.Context, log *proctest.Log, kept *journal.Journal, rdb *redis.Client) error {
	client, err := rmq.New(rmq.Config{Redis: rdb, Journal: kept})
	if err != nil {
		return err
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	log.Write(proctest.Event{Kind: proctest.Warm})
	if !proctest.AwaitGo() {
		return nil
	}
	next, senders := make(chan int), sync.WaitGroup{}
	for range 128 {
		senders.Go(func() {
			for i := range next {
				t, m := j.message(i)
				e := proctest.Event{Kind: sending, Topic: t.Name, Content: contentOf(m)}
				log.Write(e)
				if receipt, err := client.Send(ctx, t, m); err == nil {
					e.Kind, e.Note = stored, receipt.Outcome.String()
					log.Write(e)
				}
			}
		})
	}
	const tick = 10 * time.Millisecond
	ticks := time.NewTicker(tick)
	defer ticks.Stop()
	for i, due := 0, 0.0; len(term) == 0; {
		<-ticks.C
		for due += j.Rate * tick.Seconds(); due >= 1 && len(term) == 0; due-- {
			next <- i
			i++
		}
	}
	close(next)
	senders.Wait()
	if err := client.Close(ctx); err != nil {
		return err
	}
	if err := kept.Close(ctx); err != nil {
		return err
	}
	log.Write(proctest.Event{Kind: proctest.Closed})
	return nil
}

func contentOf(m rmq.Message) string {
	switch m := m.(type) {
	case rmq.FixedTime:
		return m.Content
	case rmq.Priority:
		return m.Content
	}
	return m.(rmq.RangeMerge).Content
}

// work handles messages until it is asked to stop.
func (j lossJob) work(ctx context.Context, log *proctest.Log, kept *journal.Journal, rdb *redis.Client) error {
	client, err := rmq.New(rmq.Config{Redis: rdb, Journal: kept, Lease: 2 * time.Second, SafetyLook: time.Second, Slog: slog.New(slog.DiscardHandler), Observers: []rmq.Observer{lossLog{log}}})
	if err != nil {
		return err
	}
	fixed, priority, merge, literal := lossTopics(j.Topics)
	for _, t := range []rmq.Topic{fixed, priority, merge, literal} {
		o := rmq.ListenOptions{Backoff: rmq.Schedule(50 * time.Millisecond), NoBreaker: true}
		if err := client.Listen(t, rmq.ListenerFunc(lossLog{log}.handle), o); err != nil {
			return err
		}
	}
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	log.Write(proctest.Event{Kind: proctest.Warm})
	if !proctest.AwaitGo() {
		return nil
	}
	if err := startBeside(ctx, client); err != nil {
		return err
	}
	log.Write(proctest.Event{Kind: proctest.Ready, Note: client.Worker()})
	<-term
	if err := client.Close(ctx); err != nil {
		return err
	}
	if err := kept.Close(ctx); err != nil {
		return err
	}
	log.Write(proctest.Event{Kind: proctest.Closed})
	return nil
}

// lossLog writes down what is handled, and which ends observers get.
type lossLog struct{ log *proctest.Log }

var errOfContent = errors.New("the content asks for it")

func (l lossLog) handle(_ context.Context, d *rmq.Delivery) error {
	e := proctest.Event{Kind: proctest.Start, Topic: d.Topic.Name, Slot: d.Slot, Fence: d.Fence, Attempt: d.Attempt, Content: d.Content}
	name, word, _ := strings.Cut(d.Content, " ")
	if of, has := d.Headers()["of"]; has && of != name {
		e.Note = "has the headers of " + of
	} else if !has && word == once && d.Topic.Notes {
		e.Note = noHeaders
	}
	l.log.Write(e)
	e.Kind = proctest.Done
	var err error
	switch {
	case word == deadly:
		err = rmq.Dead(errOfContent)
	case word == failing && d.Attempt == 1:
		e.Kind, err = proctest.Fail, errOfContent
	}
	l.log.Write(e)
	return err
}

// noHeaders is noted where a message should have some.
const noHeaders = "has no headers"

// Observe notes ends: one line for those of a batch.
func (l lossLog) Observe(e *message.Event) {
	all := map[proctest.Kind][]string{}
	for _, x := range e.Items {
		switch x.What {
		case message.Done, message.Died, message.Dropped:
			all[told] = append(all[told], x.Content)
		case message.Overtaken:
			all[robbed] = append(all[robbed], x.Content)
		}
	}
	for kind, contents := range all {
		l.log.Write(proctest.Event{Kind: kind, Topic: e.Topic.Name, Slot: e.Slot, Fence: e.Fence, Content: strings.Join(contents, "\n")})
	}
}
