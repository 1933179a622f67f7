package gateway

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// Messages a second in batches of 500, by eight at a time: over HTTP as JSON, in streams, and by the library, whose receipts are
// as exact.
func BenchmarkSend(b *testing.B) {
	const batch, callers = 500, 8
	topic := message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 64}
	content := func(n int) string { return fmt.Sprintf("order %d", n%1_000_000) }
	quiet := func(b *testing.B) *site {
		s := newSite(b, func(cfg *Config) { cfg.Logger = nil })
		s.ask(201, "PUT", "/v1/topics/orders", map[string]any{"kind": "priority", "slots": 64})
		return s
	}
	measure := func(b *testing.B, send func(n int) error) {
		b.SetParallelism(callers / 2)
		b.ResetTimer()
		b.RunParallel(func(pb *testing.PB) {
			n := 0
			for pb.Next() {
				if err := send(n); err != nil {
					b.Error(err)
				}
				n += batch
			}
		})
		b.ReportMetric(float64(b.N*batch)/b.Elapsed().Seconds(), "messages/s")
	}
	post := func(url, kind string, body []byte) error {
		res, err := http.Post(url, kind, bytes.NewReader(body))
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if answer, err := io.ReadAll(res.Body); err != nil || res.StatusCode != http.StatusOK || bytes.Contains(answer, []byte(`"error"`)) {
			return fmt.Errorf("%d %.200s %w", res.StatusCode, answer, err)
		}
		return nil
	}
	lines := func(n int, begin, between, end string) []byte {
		body := []byte(begin)
		for k := n; k < n+batch; k++ {
			if k > n {
				body = append(body, between...)
			}
			body = fmt.Appendf(body, `{"content":"%s","priority":%d}`, content(k), 100+k%100)
		}
		return append(body, end...)
	}
	b.Run("json", func(b *testing.B) {
		s := quiet(b)
		measure(b, func(n int) error {
			return post(s.url+"/v1/topics/orders/messages", request.JSON, lines(n, `{"messages":[`, ",", "]}"))
		})
	})
	b.Run("stream", func(b *testing.B) {
		s := quiet(b)
		measure(b, func(n int) error {
			return post(s.url+"/v1/topics/orders/messages", request.Stream, lines(n, "", "\n", "\n"))
		})
	})
	b.Run("library", func(b *testing.B) {
		s := quiet(b)
		p, err := producer.New(s.rdb, producer.Config{ExactReceipts: true})
		must.Do(b, err)
		defer func() { must.Do(b, p.Close(await.Context(b))) }()
		measure(b, func(n int) error {
			all := make([]message.Message, batch)
			for k := range all {
				all[k] = message.Priority{Content: content(n + k), Priority: int64(100 + k%100)}
			}
			_, err := p.SendBatch(ctx, topic, all)
			return err
		})
	})
}
