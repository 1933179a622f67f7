package rmq_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// onOneAndMany runs a test on one Redis and on a Cluster.
func onOneAndMany(t *testing.T, test func(t *testing.T, rdb redis.UniversalClient)) {
	t.Run("one Redis", func(t *testing.T) {
		t.Parallel()
		test(t, servertest.Redis(t).Client(t))
	})
	t.Run("Cluster", func(t *testing.T) {
		t.Parallel()
		test(t, servertest.Cluster(t, 3, 0).Client(t))
	})
}

// opened returns a client that is closed with the test.
func opened(t *testing.T, cfg rmq.Config) *rmq.Client {
	t.Helper()
	client, err := rmq.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return client
}

// A message is found by what it was sent with, is moved, explained and taken back.
func TestMessagesAreTakenBack(t *testing.T) {
	t.Parallel()
	onOneAndMany(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx := context.Background()
		client := opened(t, rmq.Config{Redis: rdb, Namespace: "shop"})
		orders := rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime} // as most name it: without Slots
		if _, _, err := client.Cancel(ctx, orders, "order 1", ""); !errors.Is(err, rmq.ErrUnknownTopic) {
			t.Errorf("before anything was sent: %v", err)
		}
		for _, basis := range []string{"", "customer 7"} {
			receipt, err := client.Send(ctx, orders, rmq.FixedTime{Content: "order 1", SlotBasis: basis, In: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			moved, err := client.Reschedule(ctx, orders, "order 1", basis, rmq.Move{In: 2 * time.Hour})
			if err != nil || moved.Slot != receipt.Slot || moved.Due.Sub(receipt.Due) < 59*time.Minute {
				t.Errorf("%v: %+v, %v", receipt, moved, err)
			}
			all, err := client.Explain(ctx, orders, "order 1", basis)
			if err != nil || len(all) != 1 || all[0].Waiting == nil || !all[0].Waiting.Due.Equal(moved.Due) || len(all[0].WaitsFor) == 0 {
				t.Errorf("%+v, %v", all, err)
			}
			for _, there := range []bool{true, false} {
				if removed, flying, err := client.Cancel(ctx, orders, "order 1", basis); removed != there || flying || err != nil {
					t.Errorf("removed %v, in flight %v, %v", removed, flying, err)
				}
			}
		}
		if all, err := client.Explain(ctx, orders, "order 1", ""); len(all) > 0 || err != nil {
			t.Errorf("%+v, %v", all, err)
		}
		if _, err := client.Reschedule(ctx, orders, "order 1", "", rmq.Move{}); !errors.Is(err, rmq.ErrNotWaiting) {
			t.Error(err)
		}
		var invalid *rmq.InvalidError
		if _, err := client.Reschedule(ctx, orders, "order 1", "", rmq.Move{Priority: 20}); !errors.As(err, &invalid) || invalid.Field != "Priority" {
			t.Error(err)
		}
		if _, _, err := client.Cancel(ctx, orders, "", ""); !errors.As(err, &invalid) || invalid.Field != "Content" {
			t.Error(err)
		}
	})
}

// takesBack does all that a user needs rights for.
func takesBack(t *testing.T, admin, rdb redis.UniversalClient) error {
	t.Helper()
	ctx, orders := context.Background(), rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime}
	client, err := rmq.New(rmq.Config{Redis: rdb})
	if err != nil {
		return err
	}
	if err := admin.FlushAll(ctx).Err(); err != nil {
		t.Fatal(err)
	}
	_, _, err = client.Cancel(ctx, orders, "x", "")
	if errors.Is(err, rmq.ErrUnknownTopic) {
		_, err = client.Send(ctx, orders, rmq.FixedTime{Content: "x", In: time.Hour})
	}
	if err == nil {
		err = admin.HSet(ctx, protocol.DefinitionKey("orders"), "sharing", "redis").Err()
	}
	if err == nil { // whom Explain asks for
		err = admin.ZAdd(ctx, protocol.WorkersKey("orders"), redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMilli()), Member: "w1"}).Err()
	}
	if err == nil {
		_, err = client.Reschedule(ctx, orders, "x", "", rmq.Move{At: time.Now().Add(2 * time.Hour)})
	}
	if err == nil {
		_, err = client.Explain(ctx, orders, "x", "")
	}
	if err == nil {
		_, _, err = client.Cancel(ctx, orders, "x", "")
	}
	return errors.Join(err, client.Close(ctx))
}

// The documented lines are enough, and a user who may only send gets all that is missing.
func TestRightsToTakeBack(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	admin := server.Client(t)
	user := documented(t, "changer")
	user.grant(t, admin)
	rdb := server.Client(t, user.login)
	if err := takesBack(t, admin, rdb); err != nil {
		t.Error(err)
	}
	worker := documented(t, "worker").with("~seen{orders_*}", "~rmq:takers{orders}", "+sscan", "+zrank")
	worker.grant(t, admin)
	if err := takesBack(t, admin, server.Client(t, worker.login)); err != nil {
		t.Error(err)
	}
	neverRefused(t, admin)
	for _, right := range documented(t, "changer").rights {
		user.without(right).grant(t, admin)
		if err := takesBack(t, admin, rdb); !slices.Equal(named(err), []string{right}) && right != "&rmq:wake{orders}" && right != "+publish" {
			t.Errorf("without %s: %v", right, err)
		}
	}

	producer := documented(t, "producer")
	producer.grant(t, admin)
	client := opened(t, rmq.Config{Redis: server.Client(t, producer.login)})
	orders := rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime}
	if _, err := client.Send(context.Background(), orders, rmq.FixedTime{Content: "x", In: time.Hour}); err != nil {
		t.Fatal(err)
	}
	_, _, err := client.Cancel(context.Background(), orders, "x", "")
	for _, right := range []string{"~retry{orders_*}", "~why{orders_*}", "+zcount"} {
		if !slices.Contains(named(err), right) {
			t.Errorf("%s is not named: %v", right, err)
		}
	}
	t.Log(err)
}
