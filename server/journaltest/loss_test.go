package journaltest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/journal/recovery"
	"github.com/slotmq/go-rmq/rmq"
)

// Redis is emptied again and again while messages of all kinds are sent and handled, and senders and workers are
// killed. Each time it is restored. In the end nothing is missing that the journal promises, and what came
// twice is what docs/PROTOCOL.md says may.
func TestLossesOfRedis(t *testing.T) {
	t.Parallel()
	seed := uint64(sharetest.Seed(t))
	for _, wait := range []bool{true, false} {
		name := map[bool]string{true: "waited for", false: "behind"}[wait]
		t.Run(name, func(t *testing.T) {
			if !night.Is() {
				t.Parallel()
			}
			for i, kind := range drawn(t, kinds) {
				t.Run(kind, func(t *testing.T) {
					if !night.Is() {
						t.Parallel()
					}
					x := newLosing(t, newPlace(t, kind, false), rand.New(rand.NewPCG(seed, uint64(i))), wait)
					x.run()
					x.check()
				})
			}
		})
	}
}

// losing is a run with losses of Redis.
type losing struct {
	testing.TB
	*rand.Rand
	p      *place
	wait   bool
	srv    *servertest.Server
	rdb    *redis.Client
	j      *journal.Journal
	dir    *proctest.Dir
	topics []rmq.Topic

	losses, kills, messages int
	processes               int // of each role
	rate                    float64

	started  map[string]int // of each role
	running  map[string][]*proctest.Process
	restored []recovery.Restored
}

const (
	emptied   proctest.Kind = "emptied"   // Redis was
	restoring proctest.Kind = "restoring" // a restore begins
	restored  proctest.Kind = "restored"  // and has ended
)

func newLosing(t testing.TB, p *place, r *rand.Rand, wait bool) *losing {
	t.Helper()
	srv := servertest.Redis(t)
	x := &losing{
		TB: t, Rand: r, p: p, wait: wait, srv: srv, rdb: srv.Client(t), j: p.open(t, journal.Config{}), dir: proctest.New(t),
		losses: night.Times(2, 30), kills: night.Times(2, 30), messages: night.Times(800, 100_000), processes: 2, rate: float64(night.Times(100, 600)),
		started: map[string]int{}, running: map[string][]*proctest.Process{},
	}
	if p.server == nil { // those who write to a file wait for each other
		x.processes, x.rate = 1, 2*x.rate
	}
	fixed, priority, merge, literal := lossTopics("loss-")
	x.topics = []rmq.Topic{fixed, priority, merge, literal}
	return x
}

// start starts a process of a role, in addition or instead of one that was killed.
func (x *losing) start(role string) {
	x.Helper()
	x.started[role]++
	name := fmt.Sprintf("%s%d", role, x.started[role])
	w := x.dir.Start(name, lossJob{
		Loss: role, Dir: x.dir.Path, Name: name, URL: x.p.url, Redis: x.srv.Addr(), Wait: x.wait, Rate: x.rate, Topics: "loss-",
	})
	x.dir.AwaitKind(name, proctest.Warm)
	w.Go()
	x.running[role] = append(x.running[role], w)
}

// run lets it all happen.
func (x *losing) run() {
	x.Helper()
	for range x.processes {
		x.start("send")
		x.start("work")
	}
	type fault struct {
		at   int // messages handled
		loss bool
	}
	var faults []fault
	for i := range x.losses + x.kills {
		faults = append(faults, fault{x.messages/20 + x.IntN(x.messages*9/10), i < x.losses})
	}
	slices.SortFunc(faults, func(a, b fault) int { return a.at - b.at })
	for _, f := range faults {
		x.awaitHandled(f.at)
		if f.loss {
			x.lose()
		} else {
			x.kill()
		}
	}
	x.awaitHandled(x.messages)
	x.end("send")
	x.restore()
	x.dir.Await("all is handled", x.drained)
	x.end("work")
}

// awaitHandled returns when so many messages were handled.
func (x *losing) awaitHandled(n int) {
	x.Helper()
	was, since := -1, time.Now()
	for done := false; !done; {
		x.dir.Await("messages are handled", func() bool {
			sum := 0
			for _, some := range x.dir.By {
				sum += some
			}
			if sum != was {
				was, since = sum, time.Now()
			}
			done = sum >= n
			return done || time.Since(since) < await.Patience // Await has a patience of its own, for less
		})
	}
}

// lose empties Redis, and restores what it had after a while.
func (x *losing) lose() {
	x.Helper()
	must.Do(x, x.rdb.FlushAll(ctx).Err())
	x.dir.Note(emptied, "")
	x.goesOn(x.IntN(100))
	x.restore()
}

// goesOn returns when so many more messages are stored.
func (x *losing) goesOn(n int) {
	x.Helper()
	since := time.Now().UnixNano()
	x.dir.AwaitEvent(fmt.Sprintf("%d messages are stored in the empty Redis", n), func(e proctest.Event) bool {
		if e.Kind == stored && e.At >= since {
			n--
		}
		return n < 0
	})
}

func (x *losing) restore() {
	x.Helper()
	r, err := recovery.New(recovery.Config{Journal: x.j, Redis: x.rdb})
	must.Do(x, err)
	begun := time.Now()
	newest, err := x.j.Newest(ctx)
	must.Do(x, err)
	x.dir.Note(restoring, fmt.Sprint(newest))
	done, err := r.Restore(ctx, recovery.Restore{Patience: 2 * time.Second, Rate: 50_000})
	must.Do(x, err)
	x.dir.Note(restored, done.String())
	x.restored = append(x.restored, done)
	x.Logf("restored after %v: %v", time.Since(begun).Round(time.Millisecond), done)
}

// kill kills a process, and starts another one.
func (x *losing) kill() {
	x.Helper()
	role := []string{"send", "work"}[x.IntN(2)]
	i := x.IntN(len(x.running[role]))
	x.running[role][i].Kill()
	x.running[role] = slices.Delete(x.running[role], i, i+1)
	x.start(role)
}

// end ends the processes of a role, which write all that they hold.
func (x *losing) end(role string) {
	x.Helper()
	for _, w := range x.running[role] {
		w.Term()
	}
	for _, w := range x.running[role] {
		x.dir.AwaitKind(w.Name, proctest.Closed)
	}
}

// drained reports whether nothing waits.
func (x *losing) drained() bool {
	var all []*redis.IntCmd
	pipe := x.rdb.Pipeline()
	for _, t := range x.topics {
		for slot := range t.Slots {
			k := protocol.KeysOf(t.Name, slot)
			all = append(all, pipe.ZCard(ctx, k.Store), pipe.ZCard(ctx, k.Prepare), pipe.ZCard(ctx, k.Retry))
		}
	}
	_, err := pipe.Exec(ctx)
	must.Do(x, err)
	return !slices.ContainsFunc(all, func(n *redis.IntCmd) bool { return n.Val() > 0 })
}
