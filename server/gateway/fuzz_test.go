package gateway

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// Whatever is asked of a gateway whose Redis is there, it is not its own fault.
func FuzzTakes(f *testing.F) {
	s := newSite(f, func(cfg *Config) { cfg.Logger = zap.NewNop() }) // F may not log any more
	s.send(orders, message.Priority{Content: "order 1", Priority: 500})
	receipt := s.ask(200, "POST", "/v1/take", map[string]any{"topics": []string{"orders"}, "wait": "20s"})["receipt"].(string)
	paths := []string{"/v1/take", "/v1/finish", "/v1/fail", "/v1/extend"}
	for _, body := range []string{
		`{"topics":["orders"],"most":10,"ttr":"30s","wait":"20s"}`, `{"topics":["orders",""]}`, `{"topics":[null]}`, `{"topics":["a{b}"],"most":-1}`, `{"topics":["` + strings.Repeat("x", 300) + `"]}`,
		`{"receipt":"` + receipt + `","results":[{"content":"order 1","outcome":"failed","in":"1h","why":"\u0000"}]}`,
		`{"receipt":"` + receipt + `","outcome":"later","in":"99999999999d"}`, `{"receipt":"` + receipt[1:] + `"}`, `{"receipt":""}`,
		strings.Repeat("[", 100_000), `{"most":1e999}`, `{"TOPICS":["orders"]}`, "\xff", "null", `{"topics":["orders"],"topics":["orders"]}`,
	} {
		for n := range paths {
			f.Add(n, body)
		}
	}
	f.Fuzz(func(t *testing.T, n int, body string) {
		short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
		defer cancel()
		r := httptest.NewRequestWithContext(short, "POST", paths[uint(n)%uint(len(paths))], strings.NewReader(body))
		r.Header.Set("Content-Type", request.JSON)
		w := httptest.NewRecorder()
		defer func() { // who has gone gets no answer
			if x := recover(); x != nil && (x != http.ErrAbortHandler || short.Err() == nil) {
				panic(x)
			}
		}()
		s.ServeHTTP(w, r)
		if w.Code >= http.StatusInternalServerError && short.Err() == nil {
			t.Errorf("%s %q: %d %s", r.URL, body, w.Code, w.Body)
		}
	})
}
