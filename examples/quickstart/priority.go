package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/rmq"
)

// priority fills one slot before there is a worker. (Order is kept within a
// slot: the slots of a topic do not wait for each other.)
func priority(ctx context.Context, s *store.Store) (result measured, err error) {
	tasks := rmq.Topic{Name: "tasks", Kind: rmq.KindPriority, Slots: 1}
	sent := []int64{300, 17, 900, 45, 1_000_000, 620, 200, 850, 33, 501, 500}

	sender, err := s.Client(rmq.Config{})
	if err != nil {
		return result, err
	}
	defer stopWorker(sender, &err)
	var batch []rmq.Message
	for _, p := range sent {
		batch = append(batch, rmq.Priority{Content: fmt.Sprintf("task %d", p), Priority: p})
	}
	// The same content again while it waits: one message, with the last priority.
	batch = append(batch, rmq.Priority{Content: "a task that became urgent", Priority: 20})
	if _, err := sender.SendBatch(ctx, tasks, batch); err != nil {
		return result, err
	}
	if _, err := sender.Send(ctx, tasks, rmq.Priority{Content: "a task that became urgent", Priority: 999}); err != nil {
		return result, err
	}
	say("12 tasks in one slot. Sent in this order: %s, 20. Then the one of 20 again, with 999.", list(sent))

	handled := make(chan int64, 2*len(batch))
	worker, err := startWorker(ctx, s, rmq.Config{}, tasks, func(_ context.Context, d *rmq.Delivery) error {
		handled <- d.Priority
		return nil
	})
	if err != nil {
		return result, err
	}
	defer stopWorker(worker, &err)
	order, err := collect(ctx, handled, len(batch))
	if err != nil {
		return result, err
	}
	say("Handled in this order: %s.", list(order))

	inOrder := 1
	for i := 1; i < len(order); i++ {
		if order[i] < order[i-1] {
			inOrder++
		}
	}
	return measured{
		text: fmt.Sprintf("%d of %d in order of priority", inOrder, len(batch)),
		ok:   inOrder == len(batch) && order[1] == 999,
	}, nil
}

func list(numbers []int64) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), "[]")
}
