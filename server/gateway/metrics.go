package gateway

import (
	"bytes"
	"maps"
	"net/http"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/internal/ownfigures"
)

// Metrics count what a gateway does, in the text format of Prometheus. The zero value is ready. As a message.Observer they
// also count what others of the process send and take, such as webhooks.
type Metrics struct {
	mu       sync.Mutex
	requests map[asked]int64
	took     map[string]*histogram
	messages map[happened]int64
	topics   map[string]bool
	out      map[string]time.Time // batches that were given out here, by their receipts, and until when they are out

	waiting func() int
}

type asked struct {
	route  string
	status int
}

type happened struct {
	topic string
	what  message.What
}

// mostTopics is how many topics are counted one by one. All others are counted together.
const mostTopics = 1000

// bounds are the upper bounds of the histogram in seconds. Takes may wait for a minute.
var bounds = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}

type histogram struct {
	counts [16]int64 // by bounds, and one above
	sum    float64
}

// whatLabels are the values of the label "what".
var whatLabels = map[message.What]string{
	message.Sent: "sent", message.Merged: "merged", message.Refused: "refused", message.Duplicate: "duplicate",
	message.Taken: "taken", message.Done: "finished", message.Failed: "failed", message.Died: "dead", message.Snoozed: "snoozed",
	message.Dropped: "dropped", message.HandedBack: "handed_back", message.Overtaken: "overtaken",
}

// Observe counts what happened to messages.
func (m *Metrics) Observe(e *message.Event) {
	m.mu.Lock()
	defer m.mu.Unlock()
	topic := m.known(e.Topic.Name)
	m.add(topic, message.Merged, e.Merged)
	for _, item := range e.Items {
		what := item.What
		if what == message.Merged { // they are counted above, and were sent
			what = message.Sent
		}
		m.add(topic, what, 1)
	}
}

// count counts what happened to messages of a topic.
func (m *Metrics) count(topic string, what message.What, n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(m.known(topic), what, n)
}

func (m *Metrics) add(topic string, what message.What, n int) {
	if whatLabels[what] != "" && n > 0 {
		set(&m.messages, happened{topic, what}, m.messages[happened{topic, what}]+int64(n))
	}
}

// known is the name by which a topic is counted.
func (m *Metrics) known(topic string) string {
	switch {
	case m.topics[topic]:
	case len(m.topics) >= mostTopics:
		return ""
	default:
		set(&m.topics, topic, true)
	}
	return topic
}

// set sets an element of a map that may not be there yet.
func set[K comparable, V any](of *map[K]V, key K, value V) {
	if *of == nil {
		*of = map[K]V{}
	}
	(*of)[key] = value
}

// answered counts a request.
func (m *Metrics) answered(route string, status int, took time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := asked{route, status}
	set(&m.requests, r, m.requests[r]+1)
	h := m.took[route]
	if h == nil {
		h = &histogram{}
		set(&m.took, route, h)
	}
	seconds, at := took.Seconds(), 0
	for at < len(bounds) && seconds > bounds[at] {
		at++
	}
	h.counts[at]++
	h.sum += seconds
}

// given notes until when a batch is out. The zero time: it is not out any more.
func (m *Metrics) given(receipt string, until time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if until.IsZero() {
		delete(m.out, receipt)
		return
	}
	set(&m.out, receipt, until)
	if n := len(m.out); n >= 1024 && n&(n-1) == 0 { // at each power of two: either many are forgotten, or there is room for as many again
		m.forget(time.Now())
	}
}

// forget forgets batches whose time to run is over.
func (m *Metrics) forget(now time.Time) {
	maps.DeleteFunc(m.out, func(_ string, until time.Time) bool { return now.After(until) })
}

// ServeHTTP writes the metrics. It asks for no token: serve it only to people and programs that may see the names of
// all topics.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	var text bytes.Buffer
	m.write(&text, time.Now())
	ownfigures.Write(&text) // not while others wait to count
	h := w.Header()
	h.Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	h.Set("Cache-Control", "no-store")
	_, _ = w.Write(text.Bytes()) // whoever asked may have gone
}

// Metrics are those of this gateway.
func (g *Gateway) Metrics() *Metrics { return g.metrics }

// showMetrics is for who may look at all topics, since their names are in it.
func showMetrics(c *call) error {
	if err := c.mayAll("what this gateway counts"); err != nil {
		return err
	}
	c.begun = true
	c.metrics.ServeHTTP(c.w, c.r)
	return nil
}
