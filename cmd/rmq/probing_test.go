package main

import (
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// Where a worker only probes, rmq stats and rmq explain say so.
func TestProbingIsShown(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		send(t, s.rdb, message.Topic{Name: "invoices", Kind: message.KindPriority, Slots: 1}, message.Priority{Content: "a", Priority: 17})
		since := time.UnixMilli(1_790_000_000_123)
		for _, err := range []error{
			s.rdb.HSet(ctx, luascripts.DefinitionKey("invoices"), "sharing", "redis").Err(),
			s.rdb.ZAdd(ctx, luascripts.WorkersKey("invoices"), redis.Z{Member: "w1", Score: float64(time.Now().Add(time.Hour).UnixMilli())}).Err(),
			s.rdb.HSet(ctx, luascripts.ProbingKey("invoices"), "w1", since.UnixMilli()).Err(),
		} {
			if err != nil {
				t.Fatal(err)
			}
		}
		for want, args := range map[string]string{
			"\ninvoices: 1 worker probes since " + moment(since) + "\n":  "stats",
			`"probing":{"w1":"` + since.UTC().Format("2006-01-02T15:04"): "stats --json",
			"what its handlers need: its worker, w1, only probes since":  "explain invoices a",
		} {
			if got := strings.Join(strings.Fields(s.text(t, strings.Fields(args)...)), " "); !strings.Contains(got, strings.TrimSpace(want)) {
				t.Errorf("rmq %s: %q, want %q", args, got, want)
			}
		}
	})
}
