package consumer

import (
	"context"
	"fmt"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
)

// Who asks for more handlers than there are slots is told so, and nobody else.
func TestMoreHandlersThanSlots(t *testing.T) {
	t.Parallel()
	rdb := shared(t)
	for name, c := range map[string]struct {
		cfg  Config
		opts ListenOptions
		says string
	}{
		"the usual":  {Config{}, ListenOptions{}, ""},
		"a topic":    {Config{}, ListenOptions{Concurrency: 5}, "map[Concurrency:5 slots:4]"},
		"as many":    {Config{}, ListenOptions{Concurrency: 4}, ""},
		"the worker": {Config{Concurrency: 5}, ListenOptions{}, "map[Concurrency:5 slots of all topics:4]"},
		"parallel":   {Config{Concurrency: 5}, ListenOptions{Parallel: true, Concurrency: 100}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			topic := topicOf(t, message.KindPriority, 4)
			core, log := observer.New(zap.WarnLevel)
			c.cfg.Logger = zap.New(core)
			worker := work(t, rdb, c.cfg, topic, func(context.Context, *Delivery) error { return nil }, c.opts)
			must.Do(t, closeIn(worker, await.Patience)) // then all lines are there
			said := ""
			for _, l := range log.FilterMessage("more handlers are asked for than there are slots").All() {
				line := l.ContextMap()
				if name, is := line["topic"]; is && name != topic.Name {
					t.Errorf("it is about %v", name)
				}
				delete(line, "topic")
				said += fmt.Sprint(line)
			}
			if said != c.says {
				t.Errorf("the log says %s, want %s", said, c.says)
			}
		})
	}
}
