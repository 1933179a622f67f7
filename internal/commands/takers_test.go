package commands

import (
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/poll"
	"github.com/slotmq/go-rmq/producer"
)

// What people see of those who take, in words and as JSON.
func TestTakersAreShown(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := at{server.Client(t), "redis://" + server.Addr()}
	send, err := producer.New(s.rdb, producer.Config{})
	must.Do(t, err)
	_, err = send.Send(ctx, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 1}, message.Priority{Content: "x", Priority: 100})
	must.Do(t, err)
	must.Do(t, send.Close(ctx))
	p, err := poll.New(poll.Config{Redis: s.rdb, Worker: "gateway-1"})
	must.Do(t, err)
	held, err := p.Take(ctx, []string{"orders"}, poll.Take{Wait: await.Patience, TTR: time.Hour})
	must.Do(t, err)
	for command, says := range map[string]string{
		"workers": "gateway-1 (taker) orders 0", "slots orders": "gateway-1 (taker)", "stats": " 0 + 1 taker", "explain orders x": "by gateway-1 (taker), in a batch of 1, lease ends in",
	} {
		if out := flat(s.text(t, strings.Fields(command)...)); !strings.Contains(out, says) {
			t.Errorf("%s: %q is not in %s", command, says, out)
		}
	}
	if all := s.objects(t, "workers"); len(all) != 1 || all[0]["taker"] != true {
		t.Errorf("%v", all)
	}
	if all := s.objects(t, "stats"); len(all) != 1 || all[0]["takers"] != float64(1) || all[0]["workers"] != float64(0) {
		t.Errorf("%v", all)
	}
	if out := s.text(t, "verify"); strings.Contains(out, "rmq:takers") {
		t.Error(out)
	}
	_, err = p.Finish(ctx, held.Receipt, poll.Failed("no", time.Hour))
	must.Do(t, err)
	if out := flat(s.text(t, "explain", "orders", "x")); !strings.Contains(out, "by gateway-1 (taker))") {
		t.Error(out)
	}
	must.Do(t, p.Close(ctx))
}
