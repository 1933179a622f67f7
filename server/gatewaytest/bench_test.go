package gatewaytest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/producer"
)

//	go test -run '^$' -bench . -benchtime 40000x ./gatewaytest
//
// The client of the benchmarks runs beside the gateway and Redis, and takes its part of the machine. So besides
// the rate each reports what the processors of the gateway spent on each message.

// post is a gateway as a process, and a client with connections that stay.
type post struct {
	testing.TB
	url    string
	pid    int
	redis  *redis.Client
	client *http.Client
}

func newPost(b testing.TB) *post {
	b.Helper()
	server := servertest.Redis(b)
	binary := rmqd(b)
	at := servertest.Nobody(b)
	cmd := exec.Command(binary, "serve", "--listen", at, "--redis", "redis://"+server.Addr())
	must.Do(b, cmd.Start())
	b.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	for !listens(at) {
		runtime.Gosched()
	}
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1000}}
	b.Cleanup(client.CloseIdleConnections)
	return &post{b, "http://" + at, cmd.Process.Pid, server.Client(b), client}
}

// ask posts a body, and returns the answer.
func (p *post) ask(path string, body []byte) []byte {
	res, err := p.client.Post(p.url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		p.Error(err)
		return nil
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= 400 {
		p.Errorf("%s: %d %s %v", path, res.StatusCode, answer, err)
	}
	return answer
}

// spent is what the processors have worked for the gateway.
func (p *post) spent() time.Duration {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	must.Do(p, err)
	f := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+2:]))
	user, _ := strconv.Atoi(f[11])
	system, _ := strconv.Atoi(f[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}

func (p *post) report(b *testing.B, before time.Duration) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
	b.ReportMetric(float64((p.spent()-before).Microseconds())/float64(b.N), "µs-gateway/msg")
}

// fill sends orders.
func (p *post) fill(n int) {
	p.Helper()
	out, err := producer.New(p.redis, producer.Config{})
	must.Do(p, err)
	defer func() { must.Do(p, out.Close(ctx)) }()
	for from := 0; from < n; from += 10_000 {
		var all []message.Message
		for i := from; i < min(n, from+10_000); i++ {
			all = append(all, message.Priority{Content: fmt.Sprint("order ", i), Priority: 500})
		}
		_, err = out.SendBatch(ctx, message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 64}, all)
		must.Do(p, err)
	}
}

// BenchmarkTakeAndFinish takes and finishes messages one by one, by 32 clients.
func BenchmarkTakeAndFinish(b *testing.B) {
	p := newPost(b)
	p.fill(b.N)
	var left atomic.Int64
	left.Store(int64(b.N))
	before := p.spent()
	b.ResetTimer()
	var clients sync.WaitGroup
	for range 32 {
		clients.Go(func() {
			for left.Add(-1) >= 0 && !b.Failed() {
				var held struct{ Receipt string }
				if err := json.Unmarshal(p.ask("/v1/take", []byte(`{"topics":["orders"],"wait":"20s"}`)), &held); err != nil {
					b.Error(err)
					return
				}
				p.ask("/v1/finish", []byte(`{"receipt":"`+held.Receipt+`"}`))
			}
		})
	}
	clients.Wait()
	b.StopTimer()
	p.report(b, before)
}

// BenchmarkSend sends messages in batches of 500, by 4 clients.
func BenchmarkSend(b *testing.B) {
	p := newPost(b)
	p.fill(1) // which defines the topic
	const batch = 500
	var bodies [][]byte
	for from := 0; from < b.N; from += batch {
		var all []map[string]any
		for i := from; i < min(b.N, from+batch); i++ {
			all = append(all, map[string]any{"content": fmt.Sprint("order ", i), "priority": 500})
		}
		body, err := json.Marshal(map[string]any{"messages": all})
		must.Do(b, err)
		bodies = append(bodies, body)
	}
	var next atomic.Int64
	before := p.spent()
	b.ResetTimer()
	var clients sync.WaitGroup
	for range 4 {
		clients.Go(func() {
			for n := int(next.Add(1)) - 1; n < len(bodies) && !b.Failed(); n = int(next.Add(1)) - 1 {
				p.ask("/v1/topics/orders/messages", bodies[n])
			}
		})
	}
	clients.Wait()
	b.StopTimer()
	p.report(b, before)
	var stored int64
	for slot := range 64 {
		stored += p.redis.ZCard(ctx, fmt.Sprint("orders_", slot)).Val()
	}
	if stored != int64(max(b.N, 1)) {
		b.Errorf("%d messages are stored, not %d", stored, b.N)
	}
}

// BenchmarkSendToBody is how long it takes from a send to the body at a taker that waits, one at a time.
func BenchmarkSendToBody(b *testing.B) {
	p := newPost(b)
	p.ask("/v1/topics/orders/messages", []byte(`{"kind":"priority","slots":64,"content":"first","priority":500}`))
	got := make(chan time.Time)
	for range 8 {
		go func() {
			for {
				res, err := p.client.Post(p.url+"/v1/take", "application/json", strings.NewReader(`{"topics":["orders"],"wait":"60s"}`))
				if err != nil {
					return // the benchmark has ended
				}
				body, err := io.ReadAll(res.Body)
				res.Body.Close()
				at := time.Now()
				if err != nil || len(body) == 0 {
					continue
				}
				var held struct{ Receipt string }
				if json.Unmarshal(body, &held) != nil || held.Receipt == "" {
					return
				}
				p.ask("/v1/finish", []byte(`{"receipt":"`+held.Receipt+`"}`))
				got <- at
			}
		}()
	}
	<-got
	var took []time.Duration
	b.ResetTimer()
	for n := range b.N {
		sent := time.Now()
		p.ask("/v1/topics/orders/messages", fmt.Appendf(nil, `{"content":"order %d","priority":500}`, n))
		took = append(took, (<-got).Sub(sent))
	}
	b.StopTimer()
	slices.Sort(took)
	for name, part := range map[string]float64{"ms-p50": 0.5, "ms-p99": 0.99, "ms-p99.9": 0.999} {
		b.ReportMetric(float64(took[int(float64(len(took)-1)*part)].Microseconds())/1000, name)
	}
}

// BenchmarkIdle is what 100 takers that wait cost Redis: commands a second, in so many seconds.
func BenchmarkIdle(b *testing.B) {
	p := newPost(b)
	p.fill(1)
	p.ask("/v1/take", []byte(`{"topics":["orders"],"wait":"20s","ttr":"1h"}`))
	for range 100 {
		go func() {
			for {
				res, err := p.client.Post(p.url+"/v1/take", "application/json", strings.NewReader(`{"topics":["orders"],"wait":"60s"}`))
				if err != nil {
					return
				}
				res.Body.Close()
			}
		}()
	}
	second := time.Tick(time.Second)
	for range 3 { // until all wait
		<-second
	}
	commands := func() int {
		text, err := p.redis.Info(ctx, "stats").Result()
		must.Do(b, err)
		_, rest, _ := strings.Cut(text, "total_commands_processed:")
		n, err := strconv.Atoi(strings.TrimSpace(strings.SplitN(rest, "\r\n", 2)[0]))
		must.Do(b, err)
		return n
	}
	before, seconds := commands(), b.N
	b.ResetTimer()
	for range seconds {
		<-second
	}
	b.StopTimer()
	b.ReportMetric(float64(commands()-before-1)/float64(seconds), "commands/s")
}
