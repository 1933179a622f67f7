package gateway

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
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

// first is the first message of a batch.
func first(held map[string]any) map[string]any { return held["messages"].([]any)[0].(map[string]any) }

// What a taker says of a batch is what becomes of it.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	take := map[string]any{"topics": []string{"orders"}, "wait": "20s"}
	s.send(orders, message.Priority{Content: "bad \xff", Priority: 500})
	held := s.ask(200, "POST", "/v1/take", take)
	if first(held)["content_base64"] != "YmFkIP8=" || first(held)["content"] != nil {
		t.Error(held)
	}
	// It fails, and is there again at once with the reason, as a second attempt.
	if x := s.ask(200, "POST", "/v1/fail", map[string]any{"receipt": held["receipt"], "why": "no paper", "in": "1ms"}); x["counted"] != true {
		t.Error(x)
	}
	held = s.ask(200, "POST", "/v1/take", take)
	if held["attempt"] != 2.0 || held["last_error"] != "no paper" {
		t.Error(held)
	}
	// It is put back, and given back: both spend no attempt.
	for _, outcome := range []map[string]any{{"outcome": "later", "in": "1ms", "why": "closed"}, {"outcome": "not_started"}} {
		outcome["receipt"] = held["receipt"]
		s.ask(200, "POST", "/v1/fail", outcome)
		if held = s.ask(200, "POST", "/v1/take", take); held["attempt"] != 2.0 {
			t.Error(outcome, held)
		}
	}
	// A result may be about one message of the batch.
	result := map[string]any{"content_base64": "YmFkIP8=", "outcome": "dead", "why": "no such shop"}
	s.ask(200, "POST", "/v1/finish", map[string]any{"receipt": held["receipt"], "results": []any{result}})
	dead, err := s.inspector.Dead().Show(ctx, "orders", "bad \xff", "")
	must.Do(t, err)
	if len(dead) != 1 || dead[0].Failure.Reason != "no such shop" {
		t.Errorf("%+v", dead)
	}
}

// A take is from the first topic that has something, in the order they are named.
func TestTakeInOrder(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	mails := message.Topic{Name: "mails", Kind: message.KindFixedTime, Slots: 2}
	s.send(orders, message.Priority{Content: "order 1", Priority: 500})
	s.send(mails, message.FixedTime{Content: "mail 1", At: time.Now()})
	for _, want := range []string{"mails", "orders"} {
		held := s.ask(200, "POST", "/v1/take", map[string]any{"topics": []string{"mails", "orders"}, "wait": "20s"})
		if held["topic"] != want {
			t.Error(held)
		}
		s.ask(200, "POST", "/v1/finish", map[string]any{"receipt": held["receipt"]})
	}
}

// A client that goes away while waiting gets nothing, and no message is lost.
func TestTakerGoesAway(t *testing.T) {
	t.Parallel()
	logger, logged := observer.New(zap.WarnLevel)
	s := newSite(t, func(cfg *Config) { cfg.Logger = zap.New(logger) })
	s.send(orders, message.Priority{Content: "order 1", Priority: 500})
	held := s.ask(200, "POST", "/v1/take", map[string]any{"topics": []string{"orders"}, "wait": "20s"})
	s.ask(200, "POST", "/v1/finish", map[string]any{"receipt": held["receipt"]})
	gone, cancel := context.WithCancel(ctx)
	req, err := http.NewRequestWithContext(gone, "POST", s.url+"/v1/take", strings.NewReader(`{"topics":["orders"],"wait":"60s","ttr":"12h"}`))
	must.Do(t, err)
	req.Header.Set("Content-Type", request.JSON)
	ended := make(chan error)
	go func() {
		res, err := http.DefaultClient.Do(req)
		if err == nil {
			res.Body.Close()
		}
		ended <- err
	}()
	await.True(t, "the call waits", func() bool { return len(s.takes.waiting) == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	await.True(t, "the call that was given up is counted", func() bool {
		answer := httptest.NewRecorder()
		s.ServeHTTP(answer, httptest.NewRequest("GET", "/metrics", nil))
		return strings.Contains(answer.Body.String(), `rmq_gateway_requests_total{route="POST /v1/take",status="0"} 1`)
	})
	if all := logged.All(); len(all) != 0 { // it is no failure
		t.Error(all)
	}
	s.send(orders, message.Priority{Content: "order 2", Priority: 500})
	if held := s.ask(200, "POST", "/v1/take", map[string]any{"topics": []string{"orders"}, "wait": "20s"}); first(held)["content"] != "order 2" || held["attempt"] != 1.0 {
		t.Error(held)
	}
}

// deaf is who does not receive an answer.
type deaf struct{ http.ResponseWriter }

func (deaf) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

// A batch whose answer cannot be written is given back at once, and no attempt is spent.
func TestTakenByTheDeaf(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.send(orders, message.Priority{Content: "order 1", Priority: 500})
	taking := httptest.NewRequest("POST", "/v1/take", strings.NewReader(`{"topics":["orders"],"wait":"20s","ttr":"12h"}`))
	taking.Header.Set("Content-Type", request.JSON)
	answer := httptest.NewRecorder()
	s.ServeHTTP(deaf{answer}, taking)
	if answer.Code != http.StatusOK {
		t.Fatal(answer.Code, answer.Header()) // nothing was taken
	}
	if held := s.ask(200, "POST", "/v1/take", map[string]any{"topics": []string{"orders"}, "wait": "20s"}); first(held)["content"] != "order 1" || held["attempt"] != 1.0 {
		t.Error(held)
	}
}

// What is given counts, also where it is 0.
func TestZeroIsNotTheDefault(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.send(orders, message.Priority{Content: "1", Priority: 500})
	for field, value := range map[string]any{"ttr": "0s", "most": 0} {
		if p := s.ask(422, "POST", "/v1/take", map[string]any{"topics": []string{"orders"}, field: value}); p["field"] != field {
			t.Error(p)
		}
	}
	s.ask(201, "PUT", "/v1/topics/mails", map[string]any{"kind": "fixed-time", "slots": 1})
	s.ask(201, "POST", "/v1/topics/mails/messages", map[string]any{"content": "now", "in": "0"})
	if held := s.ask(200, "POST", "/v1/take", map[string]any{"topics": []string{"mails"}, "wait": "20s"}); held["topic"] != "mails" {
		t.Error(held)
	}
}

// A server that is away gets another answer than a wrong request.
func TestRedisAway(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := siteOn(t, server.Client(t, func(o *redis.Options) {
		o.MaxRetries = -1
	}))
	s.send(orders, message.Priority{Content: "order 1", Priority: 500})
	held := s.ask(200, "POST", "/v1/take", map[string]any{"topics": []string{"orders"}, "wait": "20s"})
	server.Kill()
	s.answerWithin = 300 * time.Millisecond
	if p := s.ask(503, "POST", "/v1/finish", map[string]any{"receipt": held["receipt"]}); p["uncertain"] != true {
		t.Error(p)
	}
	if p := s.ask(503, "POST", "/v1/extend", map[string]any{"receipt": held["receipt"]}); p["type"] != "urn:rmq:unavailable" || p["uncertain"] != nil {
		t.Error(p)
	}
	if p := s.ask(503, "POST", "/v1/take", map[string]any{"topics": []string{"bills"}}); p["type"] != "urn:rmq:unavailable" || !strings.HasSuffix(p["detail"].(string), "; ask again in 1 s") {
		t.Error(p)
	}
}
