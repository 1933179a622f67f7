package journaltest

import (
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/message"
)

// BenchmarkBehind says how many messages a second the writer takes at the most: each is one row of
// its send and one of its end. The figures of processors are for each message: of this process, which
// for SQLite is all, and of the server.
//
//	go test -run '^$' -bench . -benchtime 200000x ./journaltest
func BenchmarkBehind(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind, func(b *testing.B) {
			p := newPlace(b, kind, true)
			j := p.open(b, journal.Config{Buffer: 1 << 30})
			const flight, batch = 64, 100
			tail := strings.Repeat("x", 100) // contents of about 100 bytes
			contents := make([]string, b.N)
			for i := range contents {
				contents[i] = fmt.Sprintf("order %d %s", i, tail[:80+i%20])
			}
			before := p.spent()
			b.ResetTimer()
			for from := 0; from < b.N; from += flight * batch {
				some := contents[from:min(from+flight*batch, b.N)]
				for at := 0; at < len(some); at += flight {
					j.Sent(sends(1, some[at:min(at+flight, len(some))]...), behind)
				}
				for at := 0; at < len(some); at += batch {
					j.Observe(end(message.Done, 2, some[at:min(at+batch, len(some))]...))
				}
			}
			must.Do(b, j.Close(ctx)) // however long it takes
			b.StopTimer()
			p.report(b, before)
		})
	}
}

// BenchmarkWait says how many sends a second 256 callers have that wait for their commit.
func BenchmarkWait(b *testing.B) {
	for _, kind := range kinds {
		b.Run(kind, func(b *testing.B) {
			const callers = 256
			p := newPlace(b, kind, true)
			j := p.open(b, journal.Config{Wait: true})
			before := p.spent()
			var next atomic.Int64
			var worst atomic.Int64
			b.ResetTimer()
			b.SetParallelism(callers / 2)
			b.RunParallel(func(pb *testing.PB) {
				answer := make(chan error, 1)
				for pb.Next() {
					start := time.Now()
					j.Sent(sends(1, fmt.Sprintf("order %d", next.Add(1))), func(err error) { answer <- err })
					if err := <-answer; err != nil {
						b.Error(err)
						return
					}
					worst.Store(max(worst.Load(), int64(time.Since(start))))
				}
			})
			b.StopTimer()
			p.report(b, before)
			b.ReportMetric(float64(worst.Load())/1e6, "ms-worst")
			closed(b, j)
		})
	}
}

// spent is the processor time used so far by this process, and by the server.
func (p *place) spent() (all [2]time.Duration) {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) == nil {
		all[0] = time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	if p.server != nil {
		all[1] = p.server.CPU()
	}
	return all
}

func (p *place) report(b *testing.B, before [2]time.Duration) {
	after := p.spent()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "messages/s")
	b.ReportMetric(float64((after[0]-before[0]).Nanoseconds())/1e3/float64(b.N), "µs-process/message")
	b.ReportMetric(float64((after[1]-before[1]).Nanoseconds())/1e3/float64(b.N), "µs-server/message")
}
