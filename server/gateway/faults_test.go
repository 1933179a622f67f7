package gateway

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// Where Redis may have stored a message and its answer is lost, that is said: for one, for many, and in a stream.
func TestUncertainSends(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	s := siteOn(t, proxy.Client(t, func(o *redis.Options) { o.ReadTimeout = 10 * time.Second }))
	const path = "/v1/topics/orders/messages"
	s.ask(201, "POST", path, map[string]any{"content": "a", "priority": 20, "kind": "priority", "slots": 1})
	p := s.inflow("orders")
	one := map[string]any{"content": "b", "priority": 20}
	// unheard does something while Redis executes the sends, and its answers are lost.
	unheard := func(do func()) {
		s.answerWithin = 4 * time.Second // time for the send to reach Redis
		proxy.OnRequest(func(b []byte) bool {
			if bytes.Contains(bytes.ToLower(b), []byte("zadd")) {
				proxy.DropReplies(true)
			}
			return true
		})
		do()
		proxy.OnRequest(nil)
		proxy.DropReplies(false)
		s.answerWithin = await.Patience
		for status := 0; status != 200 && status != 201; { // asking again is safe
			status, _ = s.post(t, path, request.JSON, []byte(`{"content":"b","priority":20}`))
		}
	}
	unheard(func() {
		problem := s.ask(503, "POST", path, one)
		if problem["uncertain"] != true || !strings.Contains(problem["detail"].(string), "; ask again in 1 s, which is safe even if it was done") {
			t.Error(problem)
		}
	})
	unheard(func() {
		many := map[string]any{"messages": []any{one, map[string]any{"content": "c", "priority": 20}}}
		if problem := s.ask(503, "POST", path, many); problem["uncertain"] != true {
			t.Error(problem)
		}
	})
	unheard(func() { // what is wrong besides does not make it another answer
		if problem := s.wrong(503, "POST", path, `{"messages":[{"content":"b","priority":20},{"content":"c"}]}`); problem["uncertain"] != true {
			t.Error(problem)
		}
	})
	unheard(func() {
		p.write(`{"content":"d","priority":20}`)
		if v := p.read(); v["line"] != 2.0 || v["error"].(map[string]any)["uncertain"] != true || v["error"].(map[string]any)["status"] != 503.0 {
			t.Error(v)
		}
	})
	p.write(`{"content":"e","priority":20}`) // the stream goes on
	p.next(3, "stored", "")
}

// With Redis away, a send says so, and nothing is known of topics that were not asked for before.
func TestSendsWithoutRedis(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	s := siteOn(t, proxy.Client(t))
	const path = "/v1/topics/orders/messages"
	one := map[string]any{"content": "a", "priority": 20}
	s.ask(201, "PUT", "/v1/topics/orders", map[string]any{"kind": "priority"})
	s.ask(201, "POST", path, one)
	s.answerWithin = 300 * time.Millisecond
	proxy.Cut()
	for range 2 {
		s.ask(503, "POST", path, one)
		s.ask(503, "POST", path, map[string]any{"messages": []any{one, one}})
		s.ask(503, "POST", "/v1/topics/others/messages", one)
		s.ask(503, "GET", path+"?content=a", nil)
		s.ask(503, "DELETE", path+"?content=a", nil)
		s.ask(503, "PATCH", path+"?content=a", map[string]any{"priority": 30})
		s.ask(503, "PUT", "/v1/topics/orders", map[string]any{"kind": "priority"})
	}
	proxy.Mend()
	s.answerWithin = await.Patience
	s.ask(200, "POST", path, one)
}

// No body makes it panic, or answer 5xx while Redis lives.
func FuzzSends(f *testing.F) {
	for _, text := range []string{
		`{"content":"a","priority":20}`, `{"messages":[{"content":"a","priority":20},7,null]}`, `{"content_base64":"AP8=","priority":20,"unique":"1h"}`,
		`{"kind":"priority","slots":1}`, `{"messages":{"messages":[]}}`, `{"content":"\ud800"}`, "\xff", `[[[[`, `{"content":"a","priority":1e999}`, "{}\n{}\n\n{", `{"headers":{"a":{}}}`,
	} {
		f.Add([]byte(text))
	}
	s := newSite(f)
	s.ask(201, "PUT", "/v1/topics/orders", map[string]any{"kind": "priority", "slots": 2})
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, kind := range []string{request.JSON, request.Stream} {
			status, answer := s.post(t, "/v1/topics/orders/messages", kind, body)
			if status >= 500 || kind == request.JSON && strings.Contains(answer, `"status":5`) {
				t.Errorf("%s %q: %d %s", kind, body, status, answer)
			}
			if kind == request.Stream {
				for line := range strings.Lines(answer) {
					checkLine(t, s.answerLine(), []byte(line))
				}
			}
		}
	})
}

// Where a call may have changed something and its answer is lost, that is said, too.
func TestUncertainChanges(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	s := siteOn(t, proxy.Client(t, func(o *redis.Options) { o.ReadTimeout, o.MaxRetries = 10*time.Second, -1 }))
	const path = "/v1/topics/orders/messages"
	change := func() {
		s.ask(200, "PATCH", path+"?content=a", map[string]any{"priority": 30})
		s.ask(200, "DELETE", path+"?content=a", nil)
		s.ask(201, "POST", path, map[string]any{"content": "a", "priority": 20})
	}
	s.ask(201, "POST", path, map[string]any{"content": "a", "priority": 20, "kind": "priority", "slots": 1})
	change() // Redis knows the scripts then
	for word, ask := range map[string]func() map[string]any{
		"orders_0": func() map[string]any { return s.ask(503, "PATCH", path+"?content=a", map[string]any{"priority": 30}) },
		"evalsha":  func() map[string]any { return s.ask(503, "DELETE", path+"?content=a", nil) },
		"evalsha\r\n": func() map[string]any {
			return s.ask(503, "PUT", "/v1/topics/bills", map[string]any{"kind": "priority"})
		},
	} {
		proxy.OnRequest(func(b []byte) bool {
			if bytes.Contains(bytes.ToLower(b), []byte(word)) {
				proxy.DropReplies(true)
			}
			return true
		})
		problem := ask()
		if problem["uncertain"] != true || !strings.Contains(problem["detail"].(string), "asking for it again is safe") {
			t.Errorf("%s: %v", word, problem)
		}
		proxy.OnRequest(nil)
		proxy.DropReplies(false)
	}
}

// Where Redis is, is said to no one who asks.
func TestNoAddresses(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := siteOn(t, server.Client(t, func(o *redis.Options) { o.MaxRetries = -1 }))
	server.Kill()
	s.answerWithin = 300 * time.Millisecond
	detail, _ := s.ask(503, "GET", "/v1/topics/orders", nil)["detail"].(string)
	for _, text := range []string{s.text(503, "/readyz"), detail} {
		if strings.Contains(text, server.Addr()) || !strings.HasPrefix(text, "Redis does not answer: ") {
			t.Error(text)
		}
	}
}
