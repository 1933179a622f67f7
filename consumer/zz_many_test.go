package consumer

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/servertest"
	"github.com/slotmq/go-rmq/message"
)

func cpu() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func TestZZMany(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("N"))
	server := servertest.Redis(t, "--slowlog-log-slower-than", "2000", "--slowlog-max-len", "1000")
	rdb := server.Client(t)
	pipe := rdb.Pipeline()
	var topics []message.Topic
	for i := range n {
		tp := message.Topic{Name: fmt.Sprintf("topic-number-%d", i), Kind: message.KindPriority, Slots: 16}
		topics = append(topics, tp)
		content := fmt.Sprintf("m%d", i)
		pipe.ZAdd(ctx, keysOf(tp, slotOf(tp, content)).Store, redisZ(100, content))
		if pipe.Len() > 1000 {
			_, err := pipe.Exec(ctx)
			must(t, err)
		}
	}
	_, err := pipe.Exec(ctx)
	must(t, err)
	var m0, m1 runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m0)
	notes := newNotes()
	c, err := New(rdb, Config{})
	must(t, err)
	first := time.Time{}
	for _, tp := range topics {
		must(t, c.Listen(tp, notes.around(func(context.Context, *Delivery) error {
			if first.IsZero() {
				first = time.Now()
			}
			return nil
		}), ListenOptions{}))
	}
	if p := os.Getenv("PROF"); p != "" {
		f, _ := os.Create(p)
		_ = pprof.StartCPUProfile(f)
	}
	begin, c0 := time.Now(), cpu()
	must(t, c.Start(ctx))
	t.Logf("start took %v, cpu %v", time.Since(begin), cpu()-c0)
	notes.await(t, "all", func() bool { return notes.total >= n })
	t.Logf("first after %v, all after %v, cpu %v", first.Sub(begin), time.Since(begin), cpu()-c0)
	must(t, c.Settle(ctx))
	t.Logf("all slots asked after %v, cpu %v", time.Since(begin), cpu()-c0)
	pprof.StopCPUProfile()
	runtime.GC()
	runtime.ReadMemStats(&m1)
	t.Logf("heap %d KiB, stacks %d KiB, goroutines %d", (m1.HeapAlloc-m0.HeapAlloc)>>10, (m1.StackInuse-m0.StackInuse)>>10, runtime.NumGoroutine())
	logs, _ := rdb.SlowLogGet(ctx, 1000).Result()
	seen := map[string]int{}
	worst := map[string]time.Duration{}
	for _, l := range logs {
		k := l.Args[0]
		if len(l.Args) > 1 { k += " " + l.Args[1][:min(12, len(l.Args[1]))] }
		seen[k]++
		worst[k] = max(worst[k], l.Duration)
	}
	t.Log(seen, worst)
	begin, c0 = time.Now(), cpu(); pf, _ := os.Create("/tmp/places_idle.prof"); _ = pprof.StartCPUProfile(pf)
	<-time.After(10 * time.Second)
	pprof.StopCPUProfile(); t.Logf("idle: %v cpu in %v", cpu()-c0, time.Since(begin))
	begin = time.Now()
	t.Log(closeIn(c, patience))
	t.Logf("close took %v", time.Since(begin))
}
