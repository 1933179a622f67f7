package gateway

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// write writes all metrics, in an order that stays.
func (m *Metrics) write(b *bytes.Buffer, now time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	head := func(name, kind, help string) { fmt.Fprintf(b, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind) }

	head("rmq_gateway_requests_total", "counter", "Requests answered, by route and status. Status 0: who asked has gone before.")
	for _, r := range slices.SortedFunc(maps.Keys(m.requests), func(a, b asked) int {
		return cmp.Or(cmp.Compare(a.route, b.route), cmp.Compare(a.status, b.status))
	}) {
		sample(b, "rmq_gateway_requests_total", strconv.FormatInt(m.requests[r], 10), "route", r.route, "status", strconv.Itoa(r.status))
	}

	head("rmq_gateway_request_seconds", "histogram", "How long requests took until their answers were written, by route. Takes wait as long as they were asked to.")
	for _, route := range slices.Sorted(maps.Keys(m.took)) {
		h, below := m.took[route], int64(0)
		for n, count := range h.counts {
			below += count
			bound := "+Inf"
			if n < len(bounds) {
				bound = number(bounds[n])
			}
			sample(b, "rmq_gateway_request_seconds_bucket", strconv.FormatInt(below, 10), "route", route, "le", bound)
		}
		sample(b, "rmq_gateway_request_seconds_sum", number(h.sum), "route", route)
		sample(b, "rmq_gateway_request_seconds_count", strconv.FormatInt(below, 10), "route", route)
	}

	head("rmq_gateway_waiting_takers", "gauge", "Requests that wait for messages now.")
	waiting := 0
	if m.waiting != nil {
		waiting = m.waiting()
	}
	sample(b, "rmq_gateway_waiting_takers", strconv.Itoa(waiting))

	m.forget(now)
	head("rmq_gateway_batches_out", "gauge", "Batches given out here, neither finished here nor over their time to run.")
	sample(b, "rmq_gateway_batches_out", strconv.Itoa(len(m.out)))

	head("rmq_gateway_messages_total", "counter", "What happened to messages, by topic: of sent, so many merged. Topics above the first 1000 are counted together, with no name.")
	for _, h := range slices.SortedFunc(maps.Keys(m.messages), func(a, b happened) int {
		return cmp.Or(cmp.Compare(a.topic, b.topic), cmp.Compare(whatLabels[a.what], whatLabels[b.what]))
	}) {
		sample(b, "rmq_gateway_messages_total", strconv.FormatInt(m.messages[h], 10), "topic", h.topic, "what", whatLabels[h.what])
	}
}

// sample writes one line. Labels are names and values by turns.
func sample(b *bytes.Buffer, name, value string, labels ...string) {
	b.WriteString(name)
	for n := 0; n < len(labels); n += 2 {
		b.WriteByte("{,"[min(n, 1)])
		b.WriteString(labels[n] + `="` + labelValue.Replace(labels[n+1]) + `"`)
	}
	if labels != nil {
		b.WriteByte('}')
	}
	b.WriteString(" " + value + "\n")
}

var labelValue = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
