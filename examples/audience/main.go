// Audience selects the audiences of campaigns. Selecting is slow, it is asked
// for again and again while people click together what they want, and no two
// selections of one audience may run at the same time, in the whole cluster,
// for they write the same tables.
//
// Asking again merges. The audience is the slotBasis, and messages of one
// slotBasis are handled one at a time. It takes no lock.
//
//	go run ./examples/audience
//	go run ./examples/audience -redis redis://localhost:6379
package main

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/rmq"
)

var (
	selections = rmq.Topic{Name: "selections", Kind: rmq.KindRangeMerge}
	audiences  = []string{"new customers", "sleepers", "readers of crime novels", "people who return shoes", "all of Berlin", "VIPs"}
	steps      = []string{"members", "sizes", "overlaps"} // three computations of each audience
)

func main() { store.Main(run) }

func run(ctx context.Context, s *store.Store) error {
	w := watch{running: map[string]int{}, most: map[string]int{}, done: make(chan string, 1000)}
	var sender *rmq.Client
	for _, name := range []string{"worker-a", "worker-b"} { // two processes, in real life
		client, err := s.Client(rmq.Config{Worker: name})
		if err != nil {
			return err
		}
		defer client.Close(context.Background())
		if err := client.Listen(selections, rmq.ListenerFunc(w.selectAudience), rmq.ListenOptions{}); err != nil {
			return err
		}
		if err := client.Start(ctx); err != nil {
			return err
		}
		sender = client
	}

	asked := 0
	begin := time.Now()
	for range 40 { // clicks
		var batch []rmq.Message
		for _, audience := range audiences {
			for _, step := range steps {
				batch = append(batch, rmq.RangeMerge{
					Content:   step + " of " + audience,
					SlotBasis: audience,
					Range:     200 * time.Millisecond,
				})
			}
		}
		if _, err := sender.SendBatch(ctx, selections, batch); err != nil {
			return err
		}
		asked += len(batch)
	}
	computed := len(audiences) * len(steps)
	for range computed {
		select {
		case <-w.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	fmt.Printf("asked %d times for %d computations, computed %d times, in %.2f s\n", asked, computed, computed, time.Since(begin).Seconds())

	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Printf("at the same time, all audiences together: up to %d\n", w.atOnce)
	for _, audience := range audiences {
		fmt.Printf("at the same time, %-24s up to %d\n", audience+":", w.most[audience])
		if w.most[audience] > 1 {
			return fmt.Errorf("two computations of %q overlapped", audience)
		}
	}
	return nil
}

// watch sees what runs at the same time.
type watch struct {
	done chan string

	mu      sync.Mutex
	running map[string]int // by audience
	most    map[string]int
	all     int
	atOnce  int
}

func (w *watch) selectAudience(ctx context.Context, d *rmq.Delivery) error {
	_, audience, _ := strings.Cut(d.Content, " of ")
	w.begin(audience)
	time.Sleep(30 * time.Millisecond) // the computation
	w.end(audience)
	w.done <- d.Content
	return nil
}

func (w *watch) begin(audience string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[audience]++
	w.all++
	w.most[audience] = max(w.most[audience], w.running[audience])
	w.atOnce = max(w.atOnce, w.all)
}

func (w *watch) end(audience string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running[audience]--
	w.all--
}
