package rmq_test

import (
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/rmq"
)

// With KnownTopics a misspelt topic is refused by name, and nothing is stored. One that somebody has defined meanwhile is not.
func TestKnownTopics(t *testing.T) {
	t.Parallel()
	b := newBench(t, rmq.Config{KnownTopics: true})
	orders, misspelt := rmq.Topic{Name: "orders", Kind: rmq.KindPriority}, rmq.Topic{Name: "oders", Kind: rmq.KindPriority}
	m := rmq.Priority{Content: "x", Priority: 17}
	refused := func(names ...string) {
		t.Helper()
		err := b.send(misspelt, m)
		b.says(err, append(names, `send to topic oders`, `no such topic: "oders"`)...)
		_, batch := b.client.SendBatch(background, misspelt, []rmq.Message{m})
		plan := b.client.Every(background, misspelt, rmq.Recurring{Name: "nightly", Content: "x", Priority: 17, Period: time.Hour})
		for _, err := range []error{err, batch, plan} {
			if !errors.Is(err, rmq.ErrUnknownTopic) {
				t.Error(err)
			}
		}
		if b.rdb.Exists(background, protocol.DefinitionKey("oders")).Val() != 0 {
			t.Error("it was made")
		}
	}
	refused("there is none in this Redis")
	b.says(b.send(rmq.Topic{Kind: rmq.KindPriority}, m), "Topic.Name")

	maker := benchOn(t, b.server, b.server.Client(t), rmq.Config{})
	must.Do(t, maker.send(orders, m))
	refused("in this Redis there is orders")
	for range 2 {
		must.Do(t, b.send(orders, m))
	}
	must.Do(t, b.client.Every(background, orders, rmq.Recurring{Name: "nightly", Content: "x", Priority: 17, Period: time.Hour}))

	must.Do(t, b.rdb.Do(background, "acl", "setuser", "sender", "on", ">x", "~*", "&*", "+@all", "-sscan").Err())
	b.client = benchOn(t, b.server, b.server.Client(t, func(o *redis.Options) { o.Username, o.Password = "sender", "x" }), rmq.Config{KnownTopics: true}).client
	refused()
	must.Do(t, b.send(orders, m))
}
