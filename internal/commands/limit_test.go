package commands

import (
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/message"
)

func TestLimit(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		send(t, s.rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4}, message.Priority{Content: "a", Priority: 17})
		says := func(want string, args ...string) {
			t.Helper()
			if got := s.text(t, args...); !strings.HasPrefix(got, want) {
				t.Errorf("rmq %v: %q, want %q", args, got, want)
			}
		}
		says("orders: no limit\n", "limit", "orders")
		says("orders: nothing to do, there was no limit\n", "limit", "orders", "--off")
		channel := s.rdb.Subscribe(ctx, protocol.WakeChannel("orders"))
		defer channel.Close()
		if _, err := channel.Receive(ctx); err != nil {
			t.Fatal(err)
		}
		says("orders: 50/s, 4 handlers in each worker, for 1h\n", "limit", "orders", "--rate", "50/s", "--concurrency", "4", "--for", "1h")
		if note := <-channel.Channel(); note.Payload != "policy" {
			t.Errorf("%q is published", note.Payload)
		}
		says("orders: 50/s, 4 handlers in each worker, for 1h\n", "limit", "orders")
		if got := s.text(t, "stats", "orders"); !strings.Contains(got, "\norders is limited: 50/s, 4 handlers in each worker, for 1h\n") {
			t.Errorf("%q", got)
		}
		if got := s.text(t, "explain", "orders", "a"); !strings.Contains(got, " the limit of its topic: 50/s, 4 handlers in each worker, for 1h") {
			t.Errorf("%q", got)
		}
		if got := s.text(t, "stats", "orders", "--json"); !strings.Contains(got, `"limit":{"rate_per_second":50,"concurrency":4,"for_ms":3`) {
			t.Errorf("%q", got)
		}
		says("orders: 10/h, for 1m30s\n", "limit", "orders", "--rate", "10/h", "--for", "90s") // and nothing of the one before
		says("orders: 20000/h, for 15m30s\n", "limit", "orders", "--rate", "20000/h", "--for", "15m30s")
		says("orders: 20000/h, for 1", "limit", "orders") // 15m or 16m
		says("orders: 1 handler in each worker, for 1s\n", "limit", "orders", "--concurrency", "1", "--for", "1s")
		says("orders: 10/m, for ", "limit", "orders", "--rate", "600/h", "--for", "2d")
		says("orders: the limit is over\n", "limit", "orders", "--off")
		says(`{"topic":"orders","limit":null}`, "limit", "orders", "--json")
		if got := s.text(t, "stats", "orders"); strings.Contains(got, "limited") {
			t.Errorf("%q", got)
		}
	})
}

func TestLimitRefuses(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		send(t, s.rdb, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4}, message.Priority{Content: "a", Priority: 17})
		for _, x := range []struct {
			args string
			code int
			says string
		}{
			{"orders --rate 0 --for 1h", 2, "to stop a topic, pause it"},
			{"orders --rate 0/s --for 1h", 2, "to stop a topic, pause it"},
			{"orders --rate -5 --for 1h", 2, "--rate is"},
			{"orders --rate NaN --for 1h", 2, "--rate is"},
			{"orders --rate Inf --for 1h", 2, "--rate is"},
			{"orders --rate 50/d --for 1h", 2, "--rate is"},
			{"orders --rate 1/h --for 1h", 2, "from 3.6/h"},
			{"orders --concurrency 0 --for 1h", 2, "--concurrency is 0; it must be 1 or more; to stop a topic, pause it"},
			{"orders --concurrency -1 --for 1h", 2, "--concurrency is -1"},
			{"orders --rate 50/s", 2, "--for is missing"},
			{"orders --for 1h", 2, "--rate and --concurrency are missing"},
			{"orders --rate 50/s --for 0", 2, "--for is 0s; it must be from 1s to 10 years"},
			{"orders --rate 50/s --for -1h", 2, "--for is"},
			{"orders --rate 50/s --for 4000d", 2, "--for is 96000h0m0s; it must be from 1s to 10 years"},
			{"orders --off --for 1h", 2, "--off"},
			{"", 2, "too few arguments"},
			{"oders --rate 50/s --for 1h", 1, "orders"},
			{"oders --off", 1, "orders"},
			{"oders", 1, "orders"},
		} {
			s.refused(t, x.code, x.says, append([]string{"limit"}, strings.Fields(x.args)...)...)
		}
		if n := s.rdb.Exists(ctx, protocol.PolicyKey("orders")).Val(); n != 0 {
			t.Error("a limit is stored")
		}
	})
}
