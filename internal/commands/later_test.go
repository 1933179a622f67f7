package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// A person who looks for a message that its handler put back sees until when, since when, and why.
func TestExplainWhatWasPutBack(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		orders := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 1}
		prices := message.Topic{Name: "prices", Kind: message.KindRangeMerge, Slots: 1}
		send(t, s.rdb, orders, message.Priority{Content: "order", Priority: 900}, message.Priority{Content: "tried before", Priority: 900})
		send(t, s.rdb, prices, soon("price"))
		c, err := consumer.New(s.rdb, consumer.Config{Worker: "app7", Backoff: verdict.Schedule(time.Millisecond)})
		must.Do(t, err)
		times := 0
		for _, topic := range []message.Topic{orders, prices} {
			must.Do(t, c.Listen(topic, consumer.ListenerFunc(func(_ context.Context, d *consumer.Delivery) error {
				switch {
				case d.Content == "tried before" && d.Attempt == 1:
					return errors.New("the shop timed out")
				case d.Content == "order":
					if times++; times == 1 {
						return verdict.LaterError(2 * time.Millisecond)
					}
				}
				return fmt.Errorf("the shop\nis closed: %w", verdict.LaterError(time.Hour))
			}), consumer.ListenOptions{}))
		}
		must.Do(t, c.Start(ctx))
		worker := c.Worker()
		flat := func(args ...string) string { return strings.Join(strings.Fields(s.text(t, args...)), " ") }
		texts := map[[2]string]string{
			{"orders", "order"}: `order in slot 0 of orders
				waiting  attempt 1 of 17, due in SPAN (TIME), put back by its handler, with priority 900
				put back  SPAN ago, first SPAN ago, by WORKER; no delivery is spent: "the shop\nis closed: put back by its handler for 1h0m0s"
				waits for  its time, in SPAN`,
			{"prices", "price"}: `price in slot 0 of prices
				waiting  due in SPAN (TIME), none goes before it
				put back  SPAN ago, by WORKER; no delivery is spent: "the shop\nis closed: put back by its handler for 1h0m0s"
				waits for  its time, in SPAN`,
			{"orders", "tried before"}: `tried before in slot 0 of orders
				retrying  attempt 2 of 17, due in SPAN (TIME)
				last error  the shop timed out (attempt 1, SPAN ago, by WORKER)
				waits for  its retry, in SPAN`,
		}
		for where := range texts {
			await.True(t, where[1]+" waits for an hour", func() bool {
				text := flat("explain", where[0], where[1])
				return strings.Contains(text, "in 59m") || strings.Contains(text, "in 1h")
			})
		}
		must.Do(t, c.Close(ctx))
		for where, text := range texts {
			got := flat("explain", where[0], where[1])
			got, _, _ = strings.Cut(got, " and a worker: none")
			wantText(t, got, strings.Join(strings.Fields(text), " "), worker)
		}
		back := s.objects(t, "explain", "orders", "order")[0]
		want(t, back["retrying"].(map[string]any)["priority"], "900")
		want(t, back["retrying"].(map[string]any)["attempt"], "1")
		want(t, back["put_back"].(map[string]any)["worker"], worker)
		want(t, back["failure"], "<nil>")
		for _, line := range []string{" 1 order", " 2 tried before"} { // the attempt
			if text := flat("peek", "orders", "--state", "retrying"); !strings.Contains(text, line) {
				t.Errorf("%s: not in %s", line, text)
			}
		}
		wantText(t, s.text(t, "verify"), "ok: 2 slots of 2 topics, no rule broken")
	})
}
