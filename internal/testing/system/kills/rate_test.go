package kills

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/system/workers"
	"github.com/slotmq/go-rmq/rmq"
)

// A topic has a rate, and its workers are killed, stopped and replaced. All of them together
// never begin more than the rate allows, and nothing is lost.
func TestProcessesWithARate(t *testing.T) {
	t.Parallel()
	topic := rmq.Topic{Name: "limited", Kind: rmq.KindPriority, Slots: 16}
	const perSecond = 200
	l := workers.NewLoad(t, workers.Job{
		Topics: []rmq.Topic{topic}, Lease: 5 * time.Second, Work: 2 * time.Millisecond, Backoff: 10 * time.Millisecond,
		Rate: rmq.Rate{PerSecond: perSecond},
	})
	l.Backlog = 400
	l.Fill()
	begun := time.Now()
	alive := l.Work(3)
	goOn := func() {
		before := l.Done()
		l.During("they go on", func() bool { return l.Done() >= before+perSecond })
	}
	for _, p := range alive {
		l.During(p.Name+" has a share", func() bool { return l.By[p.Name] > 0 })
	}
	for range night.Times(1, 2) {
		goOn()
		l.During("a worker handles something", func() bool { return l.Open(alive[0].Name) > 0 })
		alive[0].Kill()
		alive = append(alive[1:], l.Work(1)...)
		goOn()
		alive[0].Term()
		l.AwaitKind(alive[0].Name, proctest.Closed)
		alive = append(alive[1:], l.Work(1)...)
	}
	l.Drain()
	l.Check()

	events := slices.DeleteFunc(l.Events(), func(e proctest.Event) bool { return e.Kind != proctest.Start })
	slices.SortFunc(events, func(a, b proctest.Event) int { return cmp.Compare(a.At, b.At) })
	// A part of a token of each worker; and the part of a slot is there twice for some ms while
	// it moves.
	free := float64(l.Names) + 0.05*perSecond
	seconds := map[int]int{}
	for i, e := range events {
		at := time.Unix(0, e.At).Sub(begun).Seconds()
		seconds[int(at)]++
		if most := perSecond*at + free; float64(i+1) > most {
			t.Fatalf("%d have begun after %.2f s, %.0f at the most may have", i+1, at, most)
		}
	}
	var each []string
	for s := range int(time.Since(begun).Seconds()) {
		each = append(each, fmt.Sprint(seconds[s]))
	}
	t.Logf("%d deliveries of %d messages by %d workers; begun in each second: %s", len(events), len(l.Sent), l.Names, strings.Join(each, " "))
}
