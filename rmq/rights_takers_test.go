package rmq_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/rmq"
)

// takersLife is all that one who takes can do: in a topic that was sent to.
func takersLife(t *testing.T, rdb redis.UniversalClient, orders rmq.Topic) error {
	t.Helper()
	ctx := await.Context(t)
	p, err := poll.New(poll.Config{Redis: rdb, Backoff: rmq.Schedule(time.Millisecond), Observers: []rmq.Observer{message.ObserverFunc(func(*message.Event) {})}})
	if err != nil {
		return err
	}
	ended := []poll.Verdict{poll.NotStarted(), poll.Later(time.Millisecond, "not now"), poll.Failed("once more", 0), poll.Dead("never")}
	for i := 0; err == nil && i <= len(ended); i++ {
		var held *poll.Held
		if held, err = p.Take(ctx, []string{orders.Name}, poll.Take{Wait: time.Minute}); err != nil {
			break
		}
		if _, err = p.Extend(ctx, held.Receipt); err == nil {
			_, err = p.Finish(ctx, held.Receipt, ended[min(i, len(ended)-1):min(i+1, len(ended))]...)
		}
	}
	return errors.Join(err, p.Close(ctx))
}

// sentTo sends something to a topic.
func sentTo(t *testing.T, admin *redis.Client, orders rmq.Topic) {
	t.Helper()
	client, err := rmq.New(rmq.Config{Redis: admin})
	must.Do(t, err)
	for _, content := range []string{"x", "y"} {
		_, err = client.Send(context.Background(), orders, rmq.Priority{Content: content, Priority: 17})
		must.Do(t, err)
	}
	must.Do(t, client.Close(context.Background()))
}

// A worker's line and the addition are all that takers need; and each missing right is named, and no other one.
func TestTakersWithDocumentedRights(t *testing.T) {
	t.Parallel()
	for _, notes := range []bool{false, true} {
		server, orders := servertest.TLS(t), rmq.Topic{Name: "orders", Kind: rmq.KindPriority, Slots: 4, Notes: notes}
		admin, user := server.Client(t), documented(t, "worker").with(addition(t, "takers")...)
		if notes {
			user = user.with(addition(t, "noted")...)
		}
		user.grant(t, admin)
		sentTo(t, admin, orders)
		must.Do(t, takersLife(t, server.Client(t, user.login), orders))
		neverRefused(t, admin)
		rdb := server.Client(t, user.login)
		for _, right := range user.rights {
			if right == "+info" { // asked only of a server that was away
				continue
			}
			user.without(right).grant(t, admin)
			if err := takersLife(t, rdb, orders); !slices.Equal(named(err), []string{right}) {
				t.Errorf("without %s: %v", right, err)
			}
		}
	}
}

// Who finishes at a process that takes nothing is told what to grant, too.
func TestFinishWithoutRights(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server, orders := servertest.TLS(t), rmq.Topic{Name: "orders", Kind: rmq.KindPriority, Slots: 1}
	admin, user := server.Client(t), documented(t, "producer")
	sentTo(t, admin, orders)
	p, err := poll.New(poll.Config{Redis: admin})
	must.Do(t, err)
	held, err := p.Take(ctx, []string{"orders"}, poll.Take{Wait: time.Minute})
	must.Do(t, err)
	user.grant(t, admin)
	other, err := poll.New(poll.Config{Redis: server.Client(t, user.login)})
	must.Do(t, err)
	_, finished := other.Finish(ctx, held.Receipt)
	_, extended := other.Extend(ctx, held.Receipt)
	for _, err := range []error{finished, extended} {
		if err == nil || errors.Is(err, poll.ErrUncertain) || !strings.Contains(err.Error(), `grant Redis user "orders-in"`) {
			t.Error(err)
		}
	}
	must.Do(t, other.Close(ctx))
	counted, err := p.Finish(ctx, held.Receipt)
	must.Do(t, err)
	if !counted {
		t.Error("it was finished before")
	}
	must.Do(t, p.Close(ctx))
}
