package gateway

import (
	"testing"

	"github.com/slotmq/go-rmq/message"
)

var orders = message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 4}

func TestTakeAndFinish(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.send(orders, message.Priority{Content: "order 4711", Priority: 500})
	held := s.ask(200, "POST", "/v1/take", map[string]any{"topics": []string{"orders"}, "ttr": "30s", "wait": "20s"})
	m := held["messages"].([]any)[0].(map[string]any)
	if m["content"] != "order 4711" || m["priority"] != 500.0 || held["attempt"] != 1.0 || held["topic"] != "orders" {
		t.Error(held)
	}
	receipt := map[string]any{"receipt": held["receipt"]}
	if x := s.ask(200, "POST", "/v1/extend", receipt); x["held"] != true {
		t.Error(x)
	}
	if done := s.ask(200, "POST", "/v1/finish", receipt); done["counted"] != true {
		t.Error(done)
	}
	if done := s.ask(200, "POST", "/v1/finish", receipt); done["counted"] != false {
		t.Error("it counts twice")
	}
	if x := s.ask(200, "POST", "/v1/extend", receipt); x["held"] != false {
		t.Error(x)
	}
	s.ask(204, "POST", "/v1/take", map[string]any{"topics": []string{"orders"}})
}
