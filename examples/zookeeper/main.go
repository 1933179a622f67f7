// Zookeeper has two workers, to which ZooKeeper assigns the slots of a topic. It kills one of them, and shows which slots moved,
// how long they stood still, and what ZooKeeper knows.
//
//	go run ./examples/zookeeper
//	go run ./examples/zookeeper -redis redis://localhost:6379 -zk zk1:2181,zk2:2181,zk3:2181
//
// Without -zk it starts an ensemble of its own, of Debian's package.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/slots"
)

var (
	worker    = flag.String("worker", "", "be the worker of this `name`, for the program that has started it")
	namespace = flag.String("namespace", "", "of the program that has started this worker")
)

var beats = rmq.Topic{Name: "beats", Kind: rmq.KindRangeMerge, Slots: 16}

func main() { store.Main(run) }

func run(ctx context.Context, s *store.Store) error {
	if *worker != "" {
		return work(ctx, s)
	}
	if s.ZooKeeper == nil {
		ensemble, err := startEnsemble()
		if err != nil {
			return err
		}
		defer ensemble.end()
		s.ZooKeeper = ensemble.servers
	}
	return watch(ctx, s)
}

// work handles messages, as a worker of yours would.
func work(ctx context.Context, s *store.Store) error {
	s.Share(*namespace)
	client, err := rmq.New(rmq.Config{
		Redis: s.Redis, Namespace: s.Namespace, Worker: *worker,
		Slots: slots.ZooKeeper(slots.ZooKeeperConfig{Servers: s.ZooKeeper, SessionTimeout: 3 * time.Second}),
	})
	if err != nil {
		return err
	}
	err = client.Listen(beats, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		fmt.Println(*worker, d.Slot) // the other program reads it
		return nil
	}), rmq.ListenOptions{})
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until the other program ends
	closing, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return client.Close(closing) // it has taken Redis and ZooKeeper with it
}

// watch starts two workers, sends to all slots, and kills one of the workers.
func watch(ctx context.Context, s *store.Store) error {
	seen := &record{}
	a, err := start(ctx, s, "a", seen)
	if err != nil {
		return err
	}
	defer a.end()
	b, err := start(ctx, s, "b", seen)
	if err != nil {
		return err
	}
	defer b.end()
	if err := sendUntil(ctx, s, seen.shared); err != nil {
		return err
	}
	time.Sleep(time.Second) // what a worker owns is written once a second
	fmt.Printf("a has the slots %s, and b %s. ZooKeeper has these nodes:\n", list(seen.slotsOf("a")), list(seen.slotsOf("b")))
	if err := printNodes(s); err != nil {
		return err
	}

	moved, kept := seen.slotsOf("a"), seen.slotsOf("b")
	killed := time.Now()
	a.kill()
	fmt.Println("\nkill -9: a is dead. Its session lasts for 3 s from its last sign of life.")
	if err := sendUntil(ctx, s, func() bool { return len(seen.slotsOf("b")) == beats.Slots }); err != nil {
		return err
	}
	first, last := seen.stoodStill(moved, killed)
	fmt.Printf("b has all %d slots. The %d of a stood still for %.1f to %.1f s; of the %d of b, %d moved.\n",
		beats.Slots, len(moved), first.Seconds(), last.Seconds(), len(kept), seen.cameSince(kept, killed))
	time.Sleep(time.Second) // as above
	return printNodes(s)
}

// sendUntil sends a message to each slot, again and again.
func sendUntil(ctx context.Context, s *store.Store, enough func() bool) error {
	client, err := rmq.New(rmq.Config{Redis: s.Redis, Namespace: s.Namespace})
	if err != nil {
		return err
	}
	defer client.Close(context.Background())
	ctx, cancel := context.WithTimeoutCause(ctx, time.Minute, fmt.Errorf("after a minute the slots are not shared as they should be"))
	defer cancel()
	for !enough() {
		if _, err := client.SendBatch(ctx, beats, oneForEachSlot()); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// oneForEachSlot finds contents that are in different slots.
func oneForEachSlot() (all []rmq.Message) {
	found := map[int]bool{}
	for n := 0; len(found) < beats.Slots; n++ {
		content := fmt.Sprint("beat ", n)
		if slot := slots.Of(content, beats.Slots); !found[slot] {
			found[slot] = true
			all = append(all, rmq.RangeMerge{Content: content, Range: time.Millisecond})
		}
	}
	return all
}

func list(slots []int) string {
	slices.Sort(slots)
	return strings.Trim(fmt.Sprint(slots), "[]")
}
