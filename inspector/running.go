package inspector

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
	"github.com/slotmq/go-rmq/internal/text/humantime"
)

// Running is a handler that has run for 5 s or more: its worker says so a few seconds later, and until a minute after it was
// last seen alive. Of handlers that end before nothing is known.
type Running struct {
	Topic   string
	Slot    int
	Worker  string
	Since   time.Time
	Timeout time.Duration // after which the handler's context is cancelled
	Content string        // of the message that it handles, or the first of several; 200 bytes at most
	Count   int           // how many messages of the batch are handled, in one call or at the same time

	fence int64
	has   func(content string) bool // surely one of them
	hide  bool                      // texts do not name it
}

// Whole reports whether Content is all of it.
func (r *Running) Whole() bool { return r.has(r.Content) }

// running are the handlers that run for long at topics, the longest first.
func (i *Inspector) running(ctx context.Context, topics []Topic) (map[string][]Running, error) {
	listed, err := i.listed(ctx, topics, "handlers that run for long", protocol.RunningKey)
	found := map[string][]Running{}
	for topic, all := range listed {
		for text := range all {
			r, ok := protocol.ParseRunning(text)
			if !ok { // of another program
				continue
			}
			found[topic] = append(found[topic], Running{topic, r.Slot, r.Worker, r.Since, r.Timeout, r.Content, r.Count, r.Fence, r.Has, i.cfg.HideContents})
		}
		slices.SortFunc(found[topic], func(a, b Running) int {
			return cmp.Or(a.Since.Compare(b.Since), cmp.Compare(a.Slot, b.Slot), cmp.Compare(a.Worker, b.Worker))
		})
	}
	return found, err
}

// attach gives what runs to its workers. One that is not listed is added: what runs there matters all the same.
func attach(running map[string][]Running, known map[string]*Worker) {
	for _, all := range running {
		for _, r := range all {
			w := known[r.Worker]
			if w == nil {
				id := firstID(r.Worker)
				if w = known[id]; w == nil {
					w = &Worker{ID: id, Unlisted: true, Assigned: map[string][]int{}}
					known[id] = w
				}
			}
			if w.Unlisted {
				w.Assigned[r.Topic] = []int{}
			}
			w.Running = append(w.Running, r)
		}
	}
}

// firstID is the id by which a worker is listed. In a slot whose handler hangs, which still has a batch under that id, the
// worker goes on as a stranger: as w1+1, then as w1+2.
func firstID(id string) string {
	at := strings.LastIndexByte(id, '+')
	if at < 1 {
		return id
	}
	if _, err := strconv.ParseUint(id[at+1:], 10, 64); err != nil {
		return id
	}
	return id[:at]
}

// runningAt is what runs for long of a batch in flight, or nil.
func runningAt(all []Running, slot int, worker string, fence int64) *Running {
	n := slices.IndexFunc(all, func(r Running) bool { return r.Slot == slot && r.Worker == worker && r.fence == fence })
	if n < 0 {
		return nil
	}
	return &all[n]
}

// what says in words what the handler has.
func (r *Running) what() string {
	text := strconv.QuoteToGraphic(r.Content)
	if r.hide {
		text = "a message"
	}
	if r.Count > 1 {
		text += fmt.Sprintf(" and %d more", r.Count-1)
	}
	return text
}

// latest is the time of the servers that have counted slots, the latest one.
func latest(counts []byhand.Counts) (now time.Time) {
	for _, c := range counts {
		now = later(now, c.Now)
	}
	return now
}

// stuckAfter is how long after its Timeout a handler may still need to return. Its context is cancelled by then.
const stuckAfter = 5 * time.Second

// stuck are findings about handlers that run for longer than their Timeout: they ignore that their context is cancelled.
func stuck(all []Running, now time.Time) (found []finding) {
	for _, r := range all {
		if ran := now.Sub(r.Since); ran > r.Timeout+stuckAfter {
			found = append(found, warn(fmt.Sprintf("topic %s slot %d: a handler of worker %s has run %s for %s; its Timeout, %s, is over, and it ignores that its context is cancelled",
				r.Topic, r.Slot, r.Worker, r.what(), humantime.Duration(ran), humantime.Duration(r.Timeout)),
				"look where it hangs (kill -QUIT prints all goroutines of the worker, and ends it), and have what it calls there end with its context; restart that worker"))
		}
	}
	return found
}
