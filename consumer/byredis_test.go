package consumer

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

// owned counts the slots a consumer is to work at.
func owned(c *Consumer) (n int) {
	for _, t := range c.topics {
		n += len(c.running.schedule.Assigned(t.scheduled))
	}
	return n
}

// places counts the places that the slots of a consumer have.
func places(c *Consumer) (n int) {
	for _, t := range c.topics {
		for _, x := range t.scheduled.Status() {
			n += x.Permits
		}
	}
	return n
}

// setAside counts the slots of a consumer that others stand in the place of.
func setAside(c *Consumer) (n int) {
	for _, t := range c.topics {
		for _, x := range t.scheduled.Status() {
			if x.SetAside {
				n++
			}
		}
	}
	return n
}

// Workers come and go politely while messages flow: slots are shared evenly,
// never worked at twice at the same time, and every message is delivered once.
func TestWorkersComeAndGo(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind.String(), func(t *testing.T) {
			t.Parallel()
			rdb, topic := shared(t), topicOf(t, kind, 16)
			s, n := newSender(t, rdb, topic), newNotes()
			join := func() *Consumer {
				return work(t, rdb, Config{}, topic, n.around(func(context.Context, *Delivery) error {
					await.Pass(100 * time.Microsecond)
					return nil
				}))
			}
			workers := []*Consumer{join()}
			shared := func() {
				t.Helper()
				await.True(t, "slots are shared evenly", func() bool {
					sum := 0
					for _, c := range workers {
						k := owned(c)
						if k < 16/len(workers) || k > (16+len(workers)-1)/len(workers) {
							return false
						}
						sum += k
					}
					return sum == 16
				})
			}
			stop, sent := make(chan struct{}), make(chan []string)
			go func() {
				var all []string
				for round := 0; ; round++ {
					select {
					case <-stop:
						sent <- all
						return
					default:
					}
					these := numbered(fmt.Sprint(round), 50)
					s.send(t, these...)
					all = append(all, these...)
					n.await(t, "most are handled", func() bool { return len(n.attempts) > len(all)-100 })
					await.Pass(20 * time.Millisecond) // messages flow all the time, and not more than it takes
				}
			}()
			var moved atomic.Int64
			progress := func() {
				n.mu.Lock()
				from := n.total
				n.mu.Unlock()
				n.await(t, "messages flow", func() bool { return n.total >= from+100 })
				moved.Add(1)
			}
			for range 3 {
				progress()
				workers = append(workers, join())
				shared()
			}
			for len(workers) > 1 {
				progress()
				must.Do(t, closeIn(workers[0], await.Patience))
				workers = workers[1:]
				shared()
			}
			progress()
			close(stop)
			contents := <-sent
			n.awaitAll(t, contents)
			n.wantOnce(t, contents)
			must.Do(t, closeIn(workers[0], await.Patience))
			wantEmpty(t, rdb, topic)
		})
	}
}

// A slot that is taken away and given back while its handler runs is worked at
// once at a time, and its place is not lost.
func TestSlotTakenAwayAndGivenBack(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	n := newNotes()
	gate := make(chan struct{})
	c := work(t, rdb, Config{Concurrency: 1}, topic, n.around(func(context.Context, *Delivery) error {
		<-gate
		return nil
	}))
	contents := numbered("m", 50)
	newSender(t, rdb, topic).send(t, contents...)
	for i := range 50 {
		n.await(t, "a handler runs", func() bool { return n.total > i })
		for range i % 4 {
			c.topics[0].scheduled.Assign(c.running.fleet.Present(), nil)
			c.topics[0].scheduled.Assign(c.running.fleet.Present(), []int{0})
		}
		gate <- struct{}{}
	}
	n.awaitAll(t, contents)
	n.wantOnce(t, contents)
	must.Do(t, c.settle(ctx))
	if n := places(c); n != 0 {
		t.Errorf("%d places are still taken", n)
	}
}

// A worker that vanished is missed after its lease, and the others do its work.
func TestWorkerThatVanished(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 16)
	enter(t, rdb, topic, "ghost", time.Second)
	n := newNotes()
	c := work(t, rdb, Config{Lease: time.Second}, topic, n.done())
	contents := fill(t, newSender(t, rdb, topic), 2)
	n.awaitAll(t, contents)
	if k := owned(c); k != 16 {
		t.Errorf("it has %d slots", k)
	}
}

// The definition changes under a running worker, by an operator or after Redis
// lost it: the worker stops working at the topic, and goes on when they agree
// again.
func TestDefinitionChangesLater(t *testing.T) {
	t.Parallel()
	rdb, topic, sound := shared(t), topicOf(t, message.KindPriority, 4), topicOf(t, message.KindPriority, 4)
	n := newNotes()
	c := newConsumer(t, rdb, Config{Lease: time.Second})
	c.recheck = 0
	must.Do(t, c.Listen(topic, n.done(), ListenOptions{}))
	must.Do(t, c.Listen(sound, n.done(), ListenOptions{}))
	start(t, c)
	s := newSender(t, rdb, topic)
	s.send(t, "before")
	n.awaitAll(t, []string{"before"})
	must.Do(t, rdb.HSet(ctx, protocol.DefinitionKey(topic.Name), "slots", 8).Err())
	await.True(t, "the topic is left", func() bool { return owned(c) == 4 })
	s.send(t, "while")
	newSender(t, rdb, sound).send(t, "sound")
	n.awaitAll(t, []string{"sound"})
	must.Do(t, rdb.Del(ctx, protocol.DefinitionKey(topic.Name)).Err())
	await.True(t, "the topic is worked at again", func() bool { return owned(c) == 8 })
	n.awaitAll(t, []string{"while"})
	n.wantOnce(t, []string{"before", "while", "sound"})
}
