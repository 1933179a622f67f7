package gateway

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/tokens"
)

var (
	sampleLine = regexp.MustCompile(`^([a-z_]+)(?:\{(.*)\})? (\S+)$`)
	labelPair  = regexp.MustCompile(`([a-z_]+)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)`)
)

// parse reads the text format of Prometheus as strictly as it is described: each family has its HELP and TYPE before its samples,
// and only once, and no sample stands twice.
func parse(t testing.TB, text string) map[string]float64 {
	t.Helper()
	if !strings.HasSuffix(text, "\n") {
		t.Error("the last line has no end")
	}
	samples, kinds, helped, family := map[string]float64{}, map[string]string{}, map[string]bool{}, ""
	for line := range strings.SplitSeq(strings.TrimSuffix(text, "\n"), "\n") {
		words := strings.SplitN(line, " ", 4)
		switch {
		case strings.HasPrefix(line, "# HELP "):
			if family = words[2]; helped[family] || words[3] == "" {
				t.Errorf("helped twice, or not at all: %s", line)
			}
			helped[family] = true
			continue
		case strings.HasPrefix(line, "# TYPE "):
			if words[2] != family || kinds[family] != "" {
				t.Errorf("a type at a wrong place: %s", line)
			}
			kinds[family] = words[3]
			continue
		}
		m := sampleLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("no sample: %q", line)
		}
		name := m[1]
		if kinds[family] == "histogram" {
			name = strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(name, "_bucket"), "_sum"), "_count")
		}
		if name != family || kinds[family] == "" {
			t.Errorf("%q is not of the family %s", line, family)
		}
		if kinds[family] == "counter" && !strings.HasSuffix(family, "_total") {
			t.Errorf("the counter %s has no _total", family)
		}
		if left := labelPair.ReplaceAllString(m[2], ""); left != "" {
			t.Errorf("labels cannot be read: %q", line)
		}
		value, err := strconv.ParseFloat(m[3], 64)
		must.Do(t, err)
		if _, twice := samples[m[1]+"{"+m[2]+"}"]; twice {
			t.Errorf("twice: %s", line)
		}
		samples[m[1]+"{"+m[2]+"}"] = value
	}
	return samples
}

// text asks for a text.
func (s *site) text(want int, path string) string {
	s.Helper()
	req, err := http.NewRequestWithContext(await.Context(s), "GET", s.url+path, nil)
	must.Do(s, err)
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	res, err := http.DefaultClient.Do(req)
	must.Do(s, err)
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	must.Do(s, err)
	s.check(s, req, nil, false, res, text)
	if res.StatusCode != want {
		s.Fatalf("GET %s: %d %s, want %d", path, res.StatusCode, text, want)
	}
	return string(text)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	odd := message.Topic{Name: `a "b" \c`, Kind: message.KindPriority, Slots: 1}
	s.send(odd, message.Priority{Content: "1", Priority: 500}, message.Priority{Content: "2", Priority: 400}, message.Priority{Content: "3", Priority: 300})
	take := map[string]any{"topics": []string{odd.Name}, "wait": "20s"}
	first := s.ask(200, "POST", "/v1/take", take)
	figures := parse(t, s.text(200, "/metrics"))
	want(t, "out", figures["rmq_gateway_batches_out{}"], 1)
	want(t, "waiting", figures["rmq_gateway_waiting_takers{}"], 0)
	s.ask(200, "POST", "/v1/extend", map[string]any{"receipt": first["receipt"]})
	want(t, "out, extended", parse(t, s.text(200, "/metrics"))["rmq_gateway_batches_out{}"], 1)
	s.ask(200, "POST", "/v1/finish", map[string]any{"receipt": first["receipt"]})
	second := s.ask(200, "POST", "/v1/take", take)
	s.ask(200, "POST", "/v1/fail", map[string]any{"receipt": second["receipt"], "outcome": "dead", "why": "x"})
	s.ask(404, "GET", "/v1/topics/none", nil)
	s.wrong(404, "GET", "/nowhere", nil)
	figures = parse(t, s.text(200, "/metrics"))
	for name, between := range map[string][2]float64{
		`go_info{version="` + runtime.Version() + `"}`: {1, 1}, "go_goroutines{}": {2, 1e6}, "go_memstats_heap_alloc_bytes{}": {1e5, 1e12},
		"go_memstats_sys_bytes{}": {1e6, 1e12}, "go_sched_gomaxprocs_threads{}": {1, 1e6}, "go_memstats_alloc_bytes_total{}": {1e5, 1e15},
		"process_cpu_seconds_total{}": {0.001, 1e6}, "process_resident_memory_bytes{}": {1e6, 1e12}, "process_virtual_memory_bytes{}": {1e6, 1e15},
		"process_open_fds{}": {5, 1e6}, "process_max_fds{}": {5, math.Inf(1)}, "process_start_time_seconds{}": {float64(time.Now().Add(-time.Hour).Unix()), float64(time.Now().Add(time.Minute).Unix())},
	} {
		if got, is := figures[name]; !is || got < between[0] || got > between[1] {
			t.Errorf("%s is %v, not between %v", name, got, between)
		}
	}
	for name, count := range map[string]float64{
		`rmq_gateway_batches_out{}`:                                               0,
		`rmq_gateway_requests_total{route="POST /v1/take",status="200"}`:          2,
		`rmq_gateway_requests_total{route="GET /v1/topics/{topic}",status="404"}`: 1,
		`rmq_gateway_requests_total{route="other",status="404"}`:                  1,
		`rmq_gateway_requests_total{route="GET /metrics",status="200"}`:           2,
		`rmq_gateway_request_seconds_count{route="POST /v1/take"}`:                2,
		`rmq_gateway_request_seconds_bucket{route="POST /v1/take",le="+Inf"}`:     2,
		`rmq_gateway_messages_total{topic="a \"b\" \\c",what="taken"}`:            2,
		`rmq_gateway_messages_total{topic="a \"b\" \\c",what="finished"}`:         1,
		`rmq_gateway_messages_total{topic="a \"b\" \\c",what="dead"}`:             1,
	} {
		want(t, name, figures[name], count)
	}
}

// A topic more costs a line, but not without end; and a batch that never comes back is forgotten.
func TestMetricsAreBounded(t *testing.T) {
	t.Parallel()
	m := &Metrics{}
	for n := range mostTopics + 50 {
		m.Observe(&message.Event{Topic: message.Topic{Name: fmt.Sprint("topic ", n)}, Merged: 1, Items: []message.Item{{What: message.Merged}, {What: message.Sent}}})
	}
	now := time.Now()
	for n := range 10_000 {
		m.given(fmt.Sprint("receipt ", n), now.Add(-time.Second))
	}
	if len(m.out) > 1024 {
		t.Errorf("%d batches are kept", len(m.out))
	}
	var b bytes.Buffer
	m.answered("POST /v1/take", 200, 3*time.Millisecond)
	m.answered("POST /v1/take", 200, time.Hour)
	m.write(&b, now)
	figures := parse(t, b.String())
	want(t, "together", figures[`rmq_gateway_messages_total{topic="",what="sent"}`], 100)
	want(t, "merged", figures[`rmq_gateway_messages_total{topic="",what="merged"}`], 50)
	want(t, "out", figures["rmq_gateway_batches_out{}"], 0)
	want(t, "below", figures[`rmq_gateway_request_seconds_bucket{route="POST /v1/take",le="0.0025"}`], 0)
	want(t, "up to 5 ms", figures[`rmq_gateway_request_seconds_bucket{route="POST /v1/take",le="0.005"}`], 1)
	want(t, "up to 60 s", figures[`rmq_gateway_request_seconds_bucket{route="POST /v1/take",le="60"}`], 1)
	want(t, "all", figures[`rmq_gateway_request_seconds_bucket{route="POST /v1/take",le="+Inf"}`], 2)
	if lines := strings.Count(b.String(), "\n"); lines > 2*mostTopics+100 {
		t.Errorf("%d lines", lines)
	}
}

func TestMetricsAreForWhoSeesAll(t *testing.T) {
	t.Parallel()
	s, of := guarded(t, map[string]tokens.Holder{
		"some": {Rights: []tokens.Right{tokens.Look}, Topics: []string{"ord*"}},
		"all":  {Rights: []tokens.Right{tokens.Look}, Topics: []string{"*"}},
	})
	s.wrong(401, "GET", "/metrics", nil)
	s.token = of["some"]
	s.wrong(403, "GET", "/metrics", nil)
	s.token = of["all"]
	parse(t, s.text(200, "/metrics"))
}

func TestProbes(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := siteOn(t, server.Client(t))
	ready := func() bool { // within 0.8 s, which a busy machine may not make at once
		res, err := http.Get(s.url + "/readyz")
		must.Do(t, err)
		return res.Body.Close() == nil && res.StatusCode == 200
	}
	want(t, "livez", s.text(200, "/livez"), "ok\n")
	await.True(t, "it is ready", ready)
	server.Pause()
	defer server.Resume()
	if text := s.text(503, "/readyz"); !strings.HasPrefix(text, "Redis does not answer: ") {
		t.Error(text)
	}
	want(t, "livez", s.text(200, "/livez"), "ok\n")
	server.Resume()
	await.True(t, "it is ready again", ready)
	s.Drain()
	want(t, "readyz", s.text(503, "/readyz"), "this gateway is being stopped\n")
	want(t, "livez", s.text(200, "/livez"), "ok\n")
}
