package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap/zaptest"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

var ctx = context.Background()

func TestMain(m *testing.M) {
	cluster.Patience = 4 * time.Second // a machine that is busy
	servertest.Main(m)
}

// site is a gateway at a port, and a Redis.
type site struct {
	testing.TB
	*Gateway
	*contract
	rdb   redis.UniversalClient
	url   string
	token string
}

func newSite(t testing.TB, adjust ...func(*Config)) *site {
	t.Helper()
	return siteOn(t, servertest.Redis(t).Client(t), adjust...)
}

func siteOn(t testing.TB, rdb redis.UniversalClient, adjust ...func(*Config)) *site {
	t.Helper()
	cfg := Config{Redis: rdb, Logger: zaptest.NewLogger(t)}
	for _, f := range adjust {
		f(&cfg)
	}
	g, err := New(cfg)
	must.Do(t, err)
	server := httptest.NewServer(g)
	t.Cleanup(func() {
		g.Drain()
		server.Close()
		must.Do(t, g.Close(await.CleanupContext(t)))
	})
	return &site{TB: t, Gateway: g, contract: newContract(t), rdb: rdb, url: server.URL}
}

// send sends messages to a topic as a Go program does.
func (s *site) send(topic message.Topic, all ...message.Message) {
	s.Helper()
	p, err := producer.New(s.rdb, producer.Config{})
	must.Do(s, err)
	defer func() { must.Do(s, p.Close(await.Context(s))) }()
	_, err = p.SendBatch(ctx, topic, all)
	must.Do(s, err)
}

// ask makes a request, as openapi.json has it, and returns the body of the answer.
func (s *site) ask(want int, method, path string, body any) map[string]any {
	s.Helper()
	return s.call(false, want, method, path, body, nil)
}

// wrong makes a request that openapi.json may forbid.
func (s *site) wrong(want int, method, path string, body any, headers ...map[string]string) map[string]any {
	s.Helper()
	all := map[string]string{}
	for _, h := range headers {
		maps.Copy(all, h)
	}
	return s.call(true, want, method, path, body, all)
}

func (s *site) call(wrong bool, want int, method, path string, body any, headers map[string]string) map[string]any {
	s.Helper()
	var text []byte
	switch b := body.(type) {
	case nil:
	case string:
		text = []byte(b)
	default:
		var err error
		text, err = json.Marshal(b)
		must.Do(s, err)
	}
	req, err := http.NewRequestWithContext(await.Context(s), method, s.url+path, bytes.NewReader(text))
	must.Do(s, err)
	if body != nil {
		req.Header.Set("Content-Type", request.JSON)
	}
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	must.Do(s, err)
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	must.Do(s, err)
	s.check(s, req, text, wrong, res, answer)
	if res.StatusCode != want {
		s.Fatalf("%s %s %s: %d %s, want %d", method, path, text, res.StatusCode, answer, want)
	}
	object := map[string]any{}
	if len(answer) > 0 {
		must.Do(s, json.Unmarshal(answer, &object))
	}
	return object
}
