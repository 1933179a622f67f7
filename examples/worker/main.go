// Worker is a worker to play with. Start it in two shells on one Redis and they
// share the work; stop one with Ctrl-C, or kill -9 it, and watch the other.
//
//	go build -o /tmp/rmq-worker ./examples/worker    # kill -9 does not reach through go run
//	/tmp/rmq-worker -redis redis://localhost:6379 -name a
//	/tmp/rmq-worker -redis redis://localhost:6379 -name b
//	/tmp/rmq-worker -redis redis://localhost:6379 -send 500
//	/tmp/rmq-worker -redis redis://localhost:6379 -clean    # at the end
//
// With -zk localhost:2181 in each of these lines ZooKeeper shares the slots, and
// reports when a worker is dead. If the lines were run without it, -clean comes first:
// a topic is shared in one way.
//
// Without -redis it sends 20 jobs to itself and ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/rmq"
)

var (
	name  = flag.String("name", "worker", "the worker's `name`, which the others see")
	send  = flag.Int("send", 0, "send `n` jobs and end")
	take  = flag.Duration("take", 200*time.Millisecond, "how long a job takes")
	lease = flag.Duration("lease", 5*time.Second, "how long the jobs of a worker that was killed stay with it; with -zk, the session timeout")
	clean = flag.Bool("clean", false, "delete the keys of this example and, with -zk, its nodes, and end")
)

var jobs = rmq.Topic{Name: "jobs", Kind: rmq.KindPriority, Slots: 16}

func main() { store.Main(run) }

func run(ctx context.Context, s *store.Store) error {
	s.Share("worker-example")
	switch {
	case *clean:
		return s.CleanUp(ctx)
	case *send > 0 && !s.InMemory:
		client, err := s.Client(rmq.Config{})
		if err != nil {
			return err
		}
		defer client.Close(context.Background())
		return sendJobs(ctx, client, *send)
	}
	return work(ctx, s)
}

// work handles jobs until ctx ends, or, in memory, until there are none.
func work(ctx context.Context, s *store.Store) error {
	logger, err := eventLog()
	if err != nil {
		return err
	}
	client, err := s.Client(rmq.Config{Worker: *name, Lease: *lease, Logger: logger})
	if err != nil {
		return err
	}
	h := handler{slots: map[int]int{}, all: make(chan struct{}), want: -1}
	if s.InMemory {
		if h.want = *send; h.want == 0 {
			h.want = 20
		}
	}
	if err := client.Listen(jobs, &h, rmq.ListenOptions{}); err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	if s.InMemory {
		fmt.Println("Without -redis no other worker can join. Sending some jobs to myself.")
		if err := sendJobs(ctx, client, h.want); err != nil {
			return err
		}
	}
	if !s.InMemory {
		fmt.Printf("worker %s works. To stop it: Ctrl-C. To kill it: kill -9 %d\n", *name, os.Getpid())
	}
	select {
	case <-ctx.Done():
	case <-h.all:
	}
	closing, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	err = client.Close(closing)
	h.sum()
	return err
}

// sendJobs sends n jobs that no other run has sent.
func sendJobs(ctx context.Context, client *rmq.Client, n int) error {
	run := time.Now().Format("150405.000")
	batch := make([]rmq.Message, n)
	for i := range batch {
		batch[i] = rmq.Priority{Content: fmt.Sprintf("job %s-%d", run, i+1), Priority: 100}
	}
	if _, err := client.SendBatch(ctx, jobs, batch); err != nil {
		return err
	}
	fmt.Printf("sent %d jobs\n", n)
	return nil
}

// handler prints each job, and keeps count.
type handler struct {
	mu      sync.Mutex
	handled int
	slots   map[int]int
	want    int
	all     chan struct{} // closed when want jobs were handled
}

func (h *handler) OnMessage(ctx context.Context, d *rmq.Delivery) error {
	select {
	case <-time.After(*take):
	case <-ctx.Done():
		return ctx.Err()
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.handled++
	h.slots[d.Slot]++
	again := ""
	if d.Attempt > 1 {
		again = fmt.Sprintf(", delivery %d", d.Attempt)
	}
	fmt.Printf("%s  %s: slot %d%s\n", time.Now().Format("15:04:05.000"), d.Content, d.Slot, again)
	if h.handled == h.want {
		close(h.all)
	}
	return nil
}

func (h *handler) sum() {
	h.mu.Lock()
	defer h.mu.Unlock()
	var slots []int
	for slot := range h.slots {
		slots = append(slots, slot)
	}
	slices.Sort(slots)
	fmt.Printf("handled %d jobs, in slots %s\n", h.handled, strings.Trim(fmt.Sprint(slots), "[]"))
}
