package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// bury leaves so many dead messages, "order 0" and so on.
func (s *site) bury(topic message.Topic, n int) {
	s.Helper()
	all := make([]message.Message, n)
	for i := range all {
		switch content := fmt.Sprint("order ", i); topic.Kind {
		case message.KindPriority:
			all[i] = message.Priority{Content: content, Priority: 500}
		case message.KindFixedTime:
			all[i] = message.FixedTime{Content: content, In: 1e6}
		default:
			all[i] = message.RangeMerge{Content: content, Range: 1e6}
		}
	}
	s.buryAll(topic, all)
}

// buryAll sends messages, takes them and gives them up.
func (s *site) buryAll(topic message.Topic, all []message.Message) {
	s.Helper()
	s.send(topic, all...)
	for left := len(all); left > 0; {
		held := s.ask(200, "POST", "/v1/take", map[string]any{"topics": []string{topic.Name}, "most": 256, "wait": "20s"})
		left -= len(held["messages"].([]any))
		s.ask(200, "POST", "/v1/fail", map[string]any{"receipt": held["receipt"], "outcome": "dead", "why": "<b>no such order</b>"})
	}
}

// lines asks for a stream, and returns its lines.
func (s *site) lines(want int, method, path string, body any) (all []map[string]any) {
	s.Helper()
	var text []byte
	if body != nil {
		var err error
		text, err = json.Marshal(body)
		must.Do(s, err)
	}
	req, err := http.NewRequestWithContext(await.Context(s), method, s.url+path, bytes.NewReader(text))
	must.Do(s, err)
	if body != nil {
		req.Header.Set("Content-Type", request.JSON)
	}
	req.Header.Set("Accept", request.Stream)
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	res, err := http.DefaultClient.Do(req)
	must.Do(s, err)
	defer res.Body.Close()
	if res.StatusCode != want || want == http.StatusOK && res.Header.Get("Content-Type") != request.Stream {
		s.Fatalf("%s %s: %d %s, want %d", method, path, res.StatusCode, res.Header.Get("Content-Type"), want)
	}
	answer, err := io.ReadAll(res.Body)
	must.Do(s, err)
	for d := json.NewDecoder(bytes.NewReader(answer)); d.More(); {
		line := map[string]any{}
		must.Do(s, d.Decode(&line))
		all = append(all, line)
	}
	s.check(s, req, text, false, res, answer)
	return all
}

// status makes any request at all. None may fail.
func (s *site) status(t testing.TB, method, path, query string) {
	r := httptest.NewRequest(method, "/", strings.NewReader(""))
	u, err := url.Parse("http://localhost" + path)
	if err != nil {
		return
	}
	u.RawQuery = query
	r.URL = u
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if w.Code >= 500 {
		t.Errorf("%s %s?%s: %d %s", method, path, query, w.Code, w.Body)
	}
}

func inBase64(content string) string { return base64.StdEncoding.EncodeToString([]byte(content)) }

// contentOf is the content of a message in an answer.
func contentOf(t testing.TB, m map[string]any) string {
	t.Helper()
	if text, is := m["content"].(string); is {
		return text
	}
	content, err := base64.StdEncoding.DecodeString(m["content_base64"].(string))
	must.Do(t, err)
	return string(content)
}
