package worker

import (
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/lifetime"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/away"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// Worker takes the turns of the slots of a schedule.
type Worker struct {
	Config
	beats      beats
	saidSilent atomic.Bool // that Redis does not answer, while the worker closes
}

// Config is what a worker needs. All of it is needed.
type Config struct {
	Life     *lifetime.Lifetime
	Redis    redis.UniversalClient
	Scripts  *protocol.Scripts
	Schedule *schedule.Schedule
	Away     *away.Watch
	Log      *zap.Logger
	Face     Face

	Hurries bool // somebody waits for each turn: a slow write holds up no other at the same server, either
}

// New returns a worker, which [Worker.Start] starts.
func New(cfg Config) *Worker { return &Worker{Config: cfg} }

// writers keep Redis busy: one writes while another reads answers; more add nothing.
const writers = 2

// Start begins to take turns, until the schedule is closed.
func (w *Worker) Start() {
	for range writers {
		w.Life.Go(w.take)
	}
}

// Locate notes where the slots of a topic are before the first turns, so that a server which hangs holds up no turn at
// another one.
func (w *Worker) Locate(t *schedule.Topic, qualified string) {
	if !cluster.IsCluster(w.Redis) {
		return
	}
	for i := range t.Slots {
		if _, addr, err := cluster.MasterFor(w.Life.Requests, w.Redis, protocol.StoreKey(qualified, i)); err == nil {
			t.Locate(i, addr)
		}
	}
}

// Missing is how many writers have had their goroutines ended in the middle of their work.
func (w *Worker) Missing() int { return w.beats.missing() }

// Longest is for how long a writer has been at work without a wait, the one that is for the longest.
func (w *Worker) Longest() time.Duration { return w.beats.longest() }

// Between repetitions of a turn without an answer, the waiting doubles between these.
const firstRepeat, lastRepeat = 20 * time.Millisecond, time.Second

// unanswered has the turn of a slot taken again, unchanged. It reports whether a person should hear of it. Of a server
// that is away they hear once, by another line. Of turns that get no answer although it is there, or get an error, they
// hear now and then while it lasts.
func (w *Worker) unanswered(a *Answer) (say bool) {
	x, err := a.Slot, a.Err
	x.Facts.Failures++
	w.Face.Unanswered(a)
	if errors.Is(err, redis.ErrClosed) && x.Drop() {
		return false // who closes names it
	}
	cluster.NoteError(w.Life.Requests, w.Redis, err)
	pause := min(firstRepeat<<min(x.Facts.Failures-1, 10), lastRepeat)
	say = x.Facts.Failures == 1 && !cluster.Unanswered(err) || pause == lastRepeat && x.Facts.Failures%10 == 0
	say = !w.Away.DoubtAt(x.Facts.Server, x.Turn.Keys.Store, err) && say
	if say && cluster.Unanswered(err) && w.Life.Background.Err() != nil { // nobody looks at the server any more
		say = !w.saidSilent.Swap(true)
	}
	x.Repeat(x.Facts, time.Now().Add(pause/2+rand.N(pause/2)))
	return say
}
