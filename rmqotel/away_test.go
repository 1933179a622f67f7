package rmqotel

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// stuck is a Redis that answers nothing until it is released, and then with an error.
type stuck chan struct{}

func (s stuck) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s stuck) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(context.Context, redis.Cmder) error {
		<-s
		return errors.New("it was away")
	}
}

func (s stuck) ProcessPipelineHook(redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(context.Context, []redis.Cmder) error {
		<-s
		return errors.New("it was away")
	}
}

// Links are best effort: a Redis that does not answer them holds up no send and no delivery for
// long, and is reported, but not each time.
func TestLinksOfARedisThatHangs(t *testing.T) {
	var reported atomic.Int64
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		if strings.HasPrefix(err.Error(), "rmqotel: links") {
			reported.Add(1)
		}
	}))
	server := servertest.SharedRedis(t)
	rdb, away, until := server.Client(t), server.Client(t), make(stuck)
	away.AddHook(until)
	w := newWorld(t, rdb, rmq.Config{}, Config{Links: true, Redis: away})
	topic := rmq.Topic{Name: "prices", Kind: rmq.KindPriority, Slots: 2}
	handled := make(chan struct{})
	w.listen(topic, rmq.ListenOptions{}, func(context.Context, *rmq.Delivery) error {
		close(handled)
		return nil
	})
	w.start()
	w.send(topic, rmq.Priority{Content: "apple", Priority: 17}) // would last for ever
	<-handled
	w.close()
	if s := w.only("process " + w.tel.destination(topic)); len(s.Links()) != 0 {
		t.Errorf("links %v", s.Links())
	}
	close(until)
	for range mostWaiting { // when all have ended
		w.tel.links.waiting <- struct{}{}
	}
	if n := reported.Load(); n != 1 {
		t.Errorf("reported %d times", n)
	}
}
