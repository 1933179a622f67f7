package protocol_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// What else reaches Redis in a run of the driver, how it tells what happened,
// and how many runs there are.

func (d *driver) cancelOne(x string) {
	removed, inFlight, err := d.s.Cancel(ctx, d.k, d.notes, x)
	e := &effect{what: "cancel " + x, before: d.state, after: d.slot()}
	d.note("%s: removed %v, in flight %v", e.what, removed, inFlight)
	need(err == nil, "ERROR: a cancel is answered", "%v", err)
	if d.ledger[x].unique > d.now {
		d.count["unique: lifted"]++
	}
	d.ledger[x].unique = 0
	expected := e.before.clone()
	expected.cancel(x, removed, inFlight)
	expected.same(e.after)
	d.ledger.cancelled(e.after, x)
	d.check(e)
	if removed {
		d.ledger[x].noted = nil
		d.count["cancelled"]++
	}
	if inFlight {
		d.count["cancelled in flight"]++
	}
}

func (d *driver) touchBatch(w *worker) {
	if d.now != d.clockSet {
		d.at(d.now)
	}
	held, err := d.s.Touch(ctx, d.k, w.id, w.number)
	e := &effect{what: fmt.Sprintf("%s touches batch %d", w.id, w.number), before: d.state, after: d.slot()}
	d.note("%s: %v", e.what, held)
	need(err == nil, "ERROR: a touch is answered", "%v", err)
	expected := e.before.clone()
	expected.touch(w.id, w.number, d.now, held)
	expected.same(e.after)
	d.check(e)
	if held {
		w.held.since = d.now
		d.count["touched"]++
	} else {
		w.held.since = 0 // starts no handler any more
		d.count["touched in vain"]++
	}
}

// event is what happened in one step.
type event struct {
	step int
	text string
}

func (d *driver) note(format string, args ...any) {
	e := &d.trace[d.steps%len(d.trace)]
	if e.step != d.steps {
		*e = event{step: d.steps}
	}
	e.text += fmt.Sprintf("%6d ", d.now-startOfTime) + fmt.Sprintf(format, args...) + "; "
}

// story is the last steps in words.
func (d *driver) story() string {
	events := slices.Clone(d.trace[:])
	slices.SortFunc(events, func(a, b event) int { return a.step - b.step })
	var b strings.Builder
	for _, e := range events {
		fmt.Fprintf(&b, "  %3d %s\n", e.step, e.text)
	}
	return b.String()
}

func describe(t *protocol.Turn) string {
	text := fmt.Sprintf("turn of %s, number %d, gone %q, lease %v, count %d, random %d, due %v, wants %d", t.Worker, t.Fence, t.DeadHolder, t.Lease, t.Count, t.Random%16, t.Due, t.Wants)
	for _, v := range t.Verdicts {
		text += fmt.Sprintf(", %s: fate %d delay %v priority %d", v.Content, v.Fate, v.Delay, v.Priority)
	}
	return text
}

func tell(a protocol.Answer) string {
	return fmt.Sprintf("%s %d attempt %d %q %s wait %v", a.Code, a.Fence, a.Attempt, a.Contents, a.Holder, a.Wait)
}

// coverage counts what the runs really did.
type coverage map[string]int

// mustHappen are the things every series of runs has to do.
var mustHappen = []string{
	"handled", "delivered", "batch of several", "retry delivered", "a retry that was wanted came first", "one behind others", "taken over by lease", "taken over by proof", "told again",
	"late duplicate", "late request of a crashed worker", "lost answer", "fresh copy won", "due retry merged",
	"put back", "a retry put back", "put back with its priority", "put back, and its priority is not known", "what was put back took its place",
	"fresh handed back", "first time kept", "retry handed back", "unknown priority handed back", "dead after its last delivery", "dead by verdict",
	"cancelled", "cancelled in flight", "touched", "touched in vain", "send merged", "sent while in flight",
	"unique", "duplicate of what waits", "duplicate of what is in flight", "duplicate of what failed", "duplicate of what is over", "unique: lifted", "unique: ended one trimmed",
	"told its note", "note forgotten", "not told the note of a later copy", "noted: goes on", "noted: a new wait", "noted: the later end holds", "noted: one send has no end", "noted: headers of an earlier send",
	"extended: stored", "extended: overdue", "extended: moved", "extended: to its ceiling", "extended: leftover trimmed",
	"plan ADDED", "plan CHANGED", "plan CHANGED and owes", "plan KEPT", "plan KEPT at its end", "plan NEVER", "plan stopped", "plan not stopped", "plan due",
	"plan FIRED", "plan FIRED beside a copy in flight", "plan WAITS", "plan WAITS: its end is lifted", "plan SKIPPED", "plan STALE", "plan STALE by another rule", "plan ended",
	"notes removed", "notes of live copies kept",
	"EMPTY", "NUMBER", "BUSY", "PAUSED", "LEFT",
	"paused", "resumed", "STORED", "MERGED", "MERGED: its end is lifted", "DELETED", "GONE", "UNKNOWN", "a dead one gone beside a failed one",
	"reschedule STORE", "reschedule RETRY", "reschedule FAILED", "reschedule FLYING", "reschedule NOWHERE", "looked",
	"purged W", "purged F", "purged R",
}

func (c coverage) turn(e *effect) {
	for _, end := range e.out.ended {
		switch end.fate {
		case merged:
			c["fresh copy won"]++
		case first:
			c["first time kept"]++
		case snoozed:
			switch mark := e.after.retry[end.content] % 100; {
			case end.left < retries:
				c["a retry put back"]++
			case mark == putBack:
				c["put back with its priority"]++
			case mark == 17:
				c["put back, and its priority is not known"]++
			default:
				c["put back"]++
			}
		case back:
			if end.left == retries {
				c["fresh handed back"]++
			} else {
				c["retry handed back"]++
			}
		default:
			c[end.fate]++
		}
	}
	for _, t := range e.out.taken {
		c["delivered"]++
		if t.attempt > 1 {
			c["retry delivered"]++
		}
	}
	if len(e.out.taken) > 1 {
		c["batch of several"]++
	}
	switch e.out.over {
	case "its worker died":
		c["taken over by proof"]++
	case "the lease of its worker ended":
		c["taken over by lease"]++
	}
	if e.out.again {
		c["told again"]++
	}
	if e.out.wanted {
		c["a retry that was wanted came first"]++
	}
	if e.out.place > 1 {
		c["one behind others"]++
	}
	if e.out.dropped {
		c["due retry merged"]++
	}
	c["what was put back took its place"] += len(e.out.takenUp)
	c[string(e.answer.Code)]++
}

func (c coverage) String() string {
	var b strings.Builder
	for _, what := range mustHappen {
		fmt.Fprintf(&b, "%s %d, ", what, c[what])
	}
	return strings.TrimSuffix(b.String(), ", ")
}

// series is many runs of the driver.
type series struct {
	seed  uint64
	runs  int
	limit time.Duration // start no more runs after it; 0: none
	lanes int           // runs at once
}

const stepsPerRun = 400

// start runs the series in worlds of its own and returns how many were run and
// the first failure in words.
func (s series) start(world func(lane int) *world) (runs int, count coverage, failure string) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var next atomic.Int64
	count = coverage{}
	began := time.Now()
	for lane := range s.lanes {
		w, own := world(lane), coverage{}
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(s.runs) && (s.limit == 0 || time.Since(began) < s.limit); i = next.Add(1) - 1 {
				seed := s.seed + uint64(i)
				c := cells[seed%uint64(len(cells))]
				d := newDriver(w, c, seed, own)
				if b := d.run(stepsPerRun); b != nil {
					mu.Lock()
					failure = fmt.Sprintf("broken in step %d of %v with RMQ_SEED=%d\n  %s: %s\n%s", d.steps, c, seed, b.rule, b.detail, d.story())
					mu.Unlock()
					next.Store(int64(s.runs))
				}
				own["runs"]++
			}
			mu.Lock()
			defer mu.Unlock()
			for what, n := range own {
				count[what] += n
			}
		})
	}
	wg.Wait()
	return count["runs"], count, failure
}

// TestDriver drives the scripts on a real Redis and on the in-memory one.
func TestDriver(t *testing.T) {
	t.Parallel()
	for _, server := range []struct {
		name   string
		world  func(t *testing.T, lane int) *world
		runs   int  // of a series
		demand bool // that everything happens, so that there are more series until it has
	}{
		{"redis", func(t *testing.T, lane int) *world { return newWorld(t, near(t), lane, nil) }, night.Times(120, 504), true},
		{"memory", func(t *testing.T, lane int) *world {
			_, rdb := servertest.Memory(t)
			return newWorld(t, rdb, lane, nil)
		}, night.Times(24, 504), night.Is()},
	} {
		t.Run(server.name, func(t *testing.T) {
			t.Parallel()
			var total int
			happened := coverage{}
			missing := func() []string {
				return slices.DeleteFunc(slices.Clone(mustHappen), func(what string) bool {
					return happened[what] > 0 || !night.Is() && slices.Contains(rare, what)
				})
			}
			seed, began := uint64(sharetest.Seed(t)), time.Now()
			worlds := []*world{server.world(t, 0), server.world(t, 1)}
			// What is rare may not happen in one series. In so many runs it has to.
			for n := 0; n == 0 || n < mostRuns && len(missing()) > 0 && server.demand; n += server.runs {
				s := series{seed: seed + uint64(n), runs: server.runs, lanes: len(worlds)}
				runs, count, failure := s.start(func(lane int) *world { return worlds[lane] })
				if failure != "" {
					t.Fatal(failure)
				}
				total += runs
				for what, times := range count {
					happened[what] += times
				}
			}
			t.Logf("%d runs of %d steps in %v: %v", total, stepsPerRun, time.Since(began).Round(time.Millisecond), happened)
			if never := missing(); len(never) > 0 && server.demand {
				t.Errorf("in %d runs this never happened: %q", total, never)
			}
		})
	}
}

// rare is what comes once in 200 runs or less. By day the directed trials have to do, those about
// requeueing and deleting what is dead.
var rare = []string{"UNKNOWN", "a dead one gone beside a failed one"}

// mostRuns is how many runs of the driver there are at most.
const mostRuns = 5040
