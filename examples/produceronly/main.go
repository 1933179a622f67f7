// Produceronly sends and does not listen: a web service that leaves the work to
// others. It needs package producer alone. It shows what a send can answer, and
// which errors to tell apart.
//
//	go run ./examples/produceronly
//	go run ./examples/produceronly -redis redis://localhost:6379
package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

func main() { store.MainWithoutZooKeeper(run) }

func run(ctx context.Context, s *store.Store) error {
	p, err := producer.New(s.Redis, producer.Config{Namespace: s.Namespace})
	if err != nil {
		return err
	}
	// Close writes what is being sent. Give it a moment.
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = p.Close(ctx)
	}()

	fmt.Println("One message, twice:")
	thumbnails := message.Topic{Name: "thumbnails", Kind: message.KindPriority}
	var slot int
	for _, priority := range []int64{100, 700} {
		receipt, err := p.Send(ctx, thumbnails, message.Priority{Content: "photo 1", Priority: priority})
		if err != nil {
			return err
		}
		slot = receipt.Slot
		fmt.Printf("  priority %d: %s in slot %d\n", priority, receipt.Outcome, receipt.Slot)
	}
	key := s.Keys(thumbnails.Name, slot).Store
	waiting, err := s.Redis.ZRangeWithScores(ctx, key, 0, -1).Result()
	if err != nil {
		return err
	}
	fmt.Printf("  what waits in Redis, ZRANGE %s: %v\n", key, waiting)

	fmt.Println("A batch, in order:")
	batch := []message.Message{
		message.Priority{Content: "photo 2", Priority: 20},
		message.Priority{Content: "photo 3", Priority: 30},
	}
	receipts, err := p.SendBatch(ctx, thumbnails, batch)
	var failed *message.BatchError
	if errors.As(err, &failed) { // the others were stored; receipts tells
		return fmt.Errorf("send these again: %v: %w", failed.Indexes, err)
	} else if err != nil {
		return err
	}
	for i, receipt := range receipts {
		fmt.Printf("  message %d: %s in slot %d\n", i, receipt.Outcome, receipt.Slot)
	}

	fmt.Println("What is refused, with nothing stored:")
	_, err = p.Send(ctx, thumbnails, message.Priority{Content: "photo 4", Priority: 5})
	var invalid *message.InvalidError
	if !errors.As(err, &invalid) {
		return fmt.Errorf("a priority of 5 was not refused: %v", err)
	}
	fmt.Printf("  a mistake (field %s): %v\n", invalid.Field, err)

	_, err = p.Send(ctx, message.Topic{Name: "thumbnails", Kind: message.KindFixedTime},
		message.FixedTime{Content: "photo 4", At: time.Now().Add(time.Hour)})
	if !errors.Is(err, message.ErrTopicConflict) {
		return fmt.Errorf("another kind was not refused: %v", err)
	}
	fmt.Printf("  another kind: %v\n", err)

	ended, cancel := context.WithCancel(ctx)
	cancel()
	_, err = p.Send(ended, thumbnails, message.Priority{Content: "photo 4", Priority: 50})
	switch {
	case errors.Is(err, producer.ErrUncertain):
		fmt.Printf("  (stored or not, nobody knows; sending again is safe: %v)\n", err)
	case err == nil:
		return errors.New("a send with an ended context was not refused")
	default:
		fmt.Printf("  too late: %v\n", err)
	}
	return nil
}
