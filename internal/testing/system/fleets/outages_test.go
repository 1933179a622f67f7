package fleets

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/system/workers"
	"github.com/slotmq/go-rmq/rmq"
)

// outage is one of an ensemble of three, or of the way to it. It returns when all three serve again.
type outage struct {
	name    string
	happens func(f *ensembleFleet)
}

var outages = []outage{
	{"the leader is killed and starts again", func(f *ensembleFleet) { f.bounces(f.ensemble.Leader(f.T)) }},
	{"a follower is killed and starts again", func(f *ensembleFleet) { f.bounces(f.ensemble.Followers(f.T)[0]) }},
	{"all three are away for 8 s", func(f *ensembleFleet) {
		f.ensemble.Kill()
		f.lasts()
		f.meanwhile(func() { f.ensemble.Restart(f.T) })
	}},
	{"the leader hangs for 8 s", func(f *ensembleFleet) { f.hang(f.ensemble.Leader(f.T)) }},
	{"all three hang for 8 s", func(f *ensembleFleet) { f.hang(f.ensemble.Members()...) }},
	{"the leader loses the others for 8 s", func(f *ensembleFleet) {
		way := f.ensemble.Way(f.ensemble.Leader(f.T))
		way.Cut()
		f.lasts()
		way.Mend()
		f.meanwhile(func() { f.ensemble.AwaitReady(f.T) })
	}},
	{"all workers lose ZooKeeper for 8 s", func(f *ensembleFleet) {
		for _, w := range f.workers {
			for _, way := range w.toZooKeeper {
				way.Cut()
			}
		}
		f.lasts()
		for _, w := range f.workers {
			for _, way := range w.toZooKeeper {
				way.Mend()
			}
		}
	}},
}

func (f *ensembleFleet) lasts() {
	begun := time.Now()
	f.During("it lasts", func() bool { return time.Since(begun) > 8*time.Second })
}

func (f *ensembleFleet) hang(servers ...*servertest.ZooKeeperServer) {
	for _, m := range servers {
		m.Pause()
	}
	f.lasts()
	for _, m := range servers {
		m.Resume()
	}
	f.meanwhile(func() { f.ensemble.AwaitReady(f.T) })
}

func (f *ensembleFleet) bounces(server *servertest.ZooKeeperServer) {
	server.Kill()
	f.meanwhile(func() {
		server.Restart(f.T)
		f.ensemble.AwaitReady(f.T)
	})
}

// meanwhile keeps the load up while something is done.
func (f *ensembleFleet) meanwhile(do func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	f.During("ZooKeeper starts", func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	})
}

// outlived is what the outages of one kind did to the slots.
type outlived struct {
	still, after []time.Duration // how long each stood still at most, and until it went on when ZooKeeper was back
	moved, ids   int             // slots that have another worker, and workers that have another id
}

// What outages of ZooKeeper cost workers that stop: how long slots stand still, and how many move: none, if
// no session has ended. Four workers have 64 slots; by night each kind of outage happens ten times,
// with sessions of 4 and of 10 s.
func TestZooKeeperComesBack(t *testing.T) {
	t.Parallel()
	if !night.Is() {
		comesBack(t, 20*time.Second, outages[:1]) // that is long beside a restart on a busy machine
		return
	}
	for _, session := range []time.Duration{4 * time.Second, 10 * time.Second} {
		t.Run(fmt.Sprint(session), func(t *testing.T) { comesBack(t, session, outages) })
	}
}

func comesBack(t *testing.T, session time.Duration, kinds []outage) {
	ensemble := servertest.SplitEnsemble(t, 3)
	f := &ensembleFleet{newFleetOf(t, ensemble, "/rmq", 4, func(j *workers.Job) {
		j.Session, j.Work = session, 10*time.Millisecond
		j.Topics = []rmq.Topic{{Name: "pictures", Kind: rmq.KindPriority, Slots: 64}}
	}), ensemble}
	f.Rate = night.Times(80, 320)
	seen := map[string]*outlived{}
	for range night.Times(1, 10) {
		for _, i := range f.Random.Perm(len(kinds)) {
			kind := kinds[i]
			x := seen[kind.name]
			if x == nil {
				x = &outlived{}
				seen[kind.name] = x
			}
			ids, owners, from := f.ids(), f.owners(), time.Now()
			kind.happens(f)
			back := time.Now()
			f.taken(f.workers[0], "", slices.Collect(maps.Keys(owners)))
			f.settle(kind.name)
			x.note(f.Events(), from, back)
			for _, n := range f.moved(owners) {
				x.moved += n
			}
			for name, id := range f.ids() {
				if ids[name] != id {
					x.ids++
				}
			}
		}
	}
	for name, x := range seen {
		t.Logf("sessions of %v, %s: slots moved %d, ids changed %d; stood still: %s; went on, after ZooKeeper was back: %s",
			session, name, x.moved, x.ids, proctest.Spread(x.still), proctest.Spread(x.after))
		if session >= 10*time.Second && x.moved+x.ids > 0 { // else sessions may end meanwhile
			t.Errorf("%s: slots moved", name)
		}
	}
	f.Drain()
	f.judge(1)
}

// note adds what one outage did to each slot.
func (x *outlived) note(events []proctest.Event, from, back time.Time) {
	last, longest, after := map[place]int64{}, map[place]int64{}, map[place]int64{}
	for _, e := range events {
		if e.Kind != proctest.Start {
			continue
		}
		p := place{e.Topic, e.Slot}
		if e.At >= from.UnixNano() && last[p] != 0 {
			longest[p] = max(longest[p], e.At-last[p])
		}
		if e.At >= back.UnixNano() && after[p] == 0 {
			after[p] = e.At - back.UnixNano()
		}
		last[p] = e.At
	}
	for p := range after {
		x.still, x.after = append(x.still, time.Duration(longest[p])), append(x.after, time.Duration(after[p]))
	}
}
