package worker

import (
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

// writeTurns is how many turns a writer takes in one write.
const writeTurns = 8

// On a Cluster, a writer whose write takes longer than slowWrite is replaced by another one, and ends with its write: so
// a server that hangs does not hold up the slots of the others. So it is where somebody waits for each turn.
const slowWrite = 200 * time.Millisecond

// writer is one that takes turns, with the write it is at.
type writer struct {
	*Worker
	beat     *beat
	hands    []schedule.Hand
	cmds     []redis.Cmder
	answers  []Answer
	answered time.Time // when the write was
	replaced bool      // another writer has taken this one's place meanwhile
	showing  bool      // the answers are shown, and nothing is done about them yet
}

// take takes turns until the schedule is closed. It is one writer.
func (w *Worker) take() {
	t := &writer{Worker: w, beat: w.beats.add()}
	t.run()
}

// run takes turns. If an observer ends the goroutine, another one goes on. If anything else does, the slots in hand are lost,
// and another writer takes its place.
func (t *writer) run() {
	through := false
	defer func() {
		if !through && t.showing {
			t.Life.Go(t.run)
		} else {
			t.beats.remove(t.beat, through)
			if !through {
				t.Life.Go(t.take)
			}
		}
	}()
	for {
		if !t.showing {
			if !t.ask() {
				through = true
				return
			}
			t.showing = true
			t.Face.Show(t.answers, t.answered)
		}
		t.showing = false
		if t.apply(); t.replaced {
			through = true
			return
		}
	}
}

// ask takes the turns of the next slots, in one write. It returns false when the schedule is closed.
func (t *writer) ask() bool {
	t.beat.waits()
	t.hands = t.Schedule.Next(writeTurns, t.hands[:0])
	if len(t.hands) == 0 {
		return false
	}
	t.beat.works(time.Now())
	t.cmds, t.answers = t.cmds[:0], t.answers[:0]
	for _, h := range t.hands {
		if x := slotOf(h.Slot); t.Face.Ask(h) {
			t.cmds = append(t.cmds, t.Scripts.TurnCmd(t.Life.Requests, &x.Turn))
			t.answers = append(t.answers, Answer{Slot: x})
		}
	}
	if len(t.cmds) == 0 {
		return true
	}
	sent := time.Now()
	for i := range t.answers {
		t.answers[i].Slot.Sent = sent
	}
	t.beat.waits()
	if t.Hurries || cluster.IsCluster(t.Redis) {
		t.replaced = t.execWatched()
	} else {
		t.Scripts.Exec(t.Life.Requests, t.cmds...)
	}
	t.answered = time.Now()
	t.beat.works(t.answered)
	for i := range t.answers {
		a := &t.answers[i]
		a.Answer, a.Err = protocol.TurnAnswer(&a.Slot.Turn, t.cmds[i])
	}
	clear(t.cmds) // which have answers, and these what was large in them
	return true
}

// apply does what the answers say.
func (t *writer) apply() {
	unanswered, answered := 0, false
	var why error
	for i := range t.answers {
		a := &t.answers[i]
		if a.Err == nil {
			answered = true
			t.answer(a)
		} else if t.unanswered(a) {
			unanswered++
			why = a.Err
		}
	}
	clear(t.answers)
	if why != nil { // once for all of them: it is nearly always the server
		t.Log.Warn("turns have no answer and are repeated", zap.Int("slots", unanswered), zap.Error(why))
	}
	if answered {
		t.Life.Heard(t.answered)
	}
	t.Face.Applied()
}

// execWatched is Exec on a Cluster, and reports whether another writer has taken this one's place meanwhile.
func (t *writer) execWatched() (replaced bool) {
	ctx := t.Life.Requests
	for i := range t.answers {
		x := t.answers[i].Slot
		if _, addr, err := cluster.MasterFor(ctx, t.Redis, x.Turn.Keys.Store); err == nil {
			x.Facts.Server = addr
		}
	}
	var mu sync.Mutex
	over := false
	timer := time.AfterFunc(slowWrite, func() {
		mu.Lock()
		defer mu.Unlock()
		if !over {
			replaced = true
			t.Life.Go(t.take)
		}
	})
	stop := cluster.WhileSlow(ctx, t.Redis)
	t.Scripts.Exec(ctx, t.cmds...)
	stop()
	timer.Stop()
	mu.Lock()
	defer mu.Unlock()
	over = true
	return replaced
}
