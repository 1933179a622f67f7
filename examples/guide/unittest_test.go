package guide_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqtest"
)

var limits = rmq.Topic{Name: "order-limits", Kind: rmq.KindFixedTime}

// shop stands for your code: it closes orders that are not paid within half an hour.
type shop struct {
	client interface {
		Send(ctx context.Context, t rmq.Topic, m rmq.Message) (rmq.Receipt, error)
	}
	paid   map[string]bool
	closed []string
	down   bool
}

func (s *shop) order(ctx context.Context, id string) error {
	_, err := s.client.Send(ctx, limits, rmq.FixedTime{Content: id, In: 30 * time.Minute})
	return err
}

func (s *shop) OnMessage(_ context.Context, d *rmq.Delivery) error {
	switch {
	case s.down:
		return errors.New("the database is away")
	case !s.paid[d.Content]:
		s.closed = append(s.closed, d.Content)
	}
	return nil
}

func TestOrdersAreClosed(t *testing.T) {
	client := rmqtest.New(t, rmq.Config{Backoff: rmq.Schedule(time.Minute)})
	shop := &shop{client: client, paid: map[string]bool{}}
	if err := client.Listen(limits, shop, rmq.ListenOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := client.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"order 1", "order 2"} {
		if err := shop.order(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	shop.paid["order 2"], shop.down = true, true

	client.Advance(30 * time.Minute) // returns when all that is due has been handled
	shop.down = false
	client.Advance(time.Minute) // the retries
	if !slices.Equal(shop.closed, []string{"order 1"}) {
		t.Errorf("closed %q", shop.closed)
	}
}
