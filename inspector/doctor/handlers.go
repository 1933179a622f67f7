package doctor

import (
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/inspector/internal/who"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/text/humantime"
)

// latest is the time of the servers that have counted slots, the latest one.
func latest(counts []byhand.Counts) (now time.Time) {
	for _, c := range counts {
		now = ask.Later(now, c.Now)
	}
	return now
}

// overrunAfter is how long after its Timeout a handler may still need to return. Its context is cancelled by then.
const overrunAfter = 5 * time.Second

// overrun are findings about handlers that run for longer than their Timeout: they ignore that their context is cancelled.
func overrun(all []who.Running, now time.Time) (found []finding) {
	for _, r := range all {
		if ran := now.Sub(r.Since); ran > r.Timeout+overrunAfter {
			found = append(found, warn(fmt.Sprintf("topic %s slot %d: a handler of worker %s has run %s for %s; its Timeout, %s, is over, and it ignores that its context is cancelled",
				r.Topic, r.Slot, r.Worker, who.What(&r), humantime.Duration(ran), humantime.Duration(r.Timeout)),
				"look where it hangs (kill -QUIT prints all goroutines of the worker, and ends it), and have what it calls there end with its context; restart that worker"))
		}
	}
	return found
}

// onlyProbe says in words which workers only probe, and since when.
func onlyProbe(probing map[string]time.Time) string {
	first := ""
	for worker, since := range probing {
		if first == "" || since.Before(probing[first]) || since.Equal(probing[first]) && worker < first {
			first = worker
		}
	}
	if n := len(probing); n > 1 {
		return fmt.Sprintf("%d workers only probe, the first, %s, since %s", n, first, probing[first].Format(time.DateTime))
	}
	return fmt.Sprintf("its worker %s only probes since %s", first, probing[first].Format(time.DateTime))
}
