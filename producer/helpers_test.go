package producer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/message"
)

// newProducer is closed with the test, which fails if that does not work.
func newProducer(t testing.TB, rdb redis.UniversalClient, cfg Config) *Producer {
	t.Helper()
	p, err := New(rdb, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(await.CleanupContext(t)); err != nil {
			t.Error(err)
		}
	})
	return p
}

// topicOf is a topic of the test's own on a server it may share.
func topicOf(t testing.TB, kind message.Kind) message.Topic {
	name := strings.ReplaceAll(t.Name(), "/", "-")
	return message.Topic{Name: fmt.Sprintf("%s-%d", name, time.Now().UnixNano()), Kind: kind, Slots: 4}
}

func mustSend(t testing.TB, p *Producer, topic message.Topic, m message.Message) Receipt {
	t.Helper()
	r, err := p.Send(await.Context(t), topic, m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// waiting reads the stores of all slots: content -> score.
func waiting(t testing.TB, rdb redis.UniversalClient, topic message.Topic) map[string]float64 {
	t.Helper()
	all := map[string]float64{}
	for slot := range definition.Full(topic).Slots {
		for _, z := range rdb.ZRangeWithScores(context.Background(), protocol.StoreKey(topic.Name, slot), 0, -1).Val() {
			all[z.Member.(string)] = z.Score
		}
	}
	return all
}

func wantInvalid(t testing.TB, err error, field string) {
	t.Helper()
	var invalid *message.InvalidError
	if !errors.As(err, &invalid) || !errors.Is(err, message.ErrInvalid) || invalid.Field != field {
		t.Errorf("got error %v, want an InvalidError about %s", err, field)
	}
}
