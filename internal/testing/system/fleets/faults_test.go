package fleets

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/system/workers"
	"github.com/slotmq/go-rmq/rmq"
)

// takeoverLimit is how much longer than its session a slot may stay with a worker
// that is gone, by night. One second is promised; the machine that runs the tests is small.
const takeoverLimit = 5 * time.Second

// ensembleFleet is a fleet on a ZooKeeper to be harmed, if it is an ensemble.
type ensembleFleet struct {
	*fleet
	ensemble *servertest.ZooKeeperEnsemble
}

// zkFault is something that may befall a worker or ZooKeeper. Each ends with workers
// that have their shares again.
type zkFault struct {
	name  string
	harm  func(f *ensembleFleet, w *worker)
	night bool // only then: by day another one stands for it
}

var (
	faultsOfWorkers = []zkFault{
		{name: "killed", harm: (*ensembleFleet).kills},
		{name: "frozen for longer than its session", harm: (*ensembleFleet).freezes},
		{name: "cut off from ZooKeeper, which it is not told", harm: (*ensembleFleet).mutes},
		{name: "cut off from ZooKeeper by resets", harm: (*ensembleFleet).resets, night: true},
		{name: "session ended by force", harm: (*ensembleFleet).expires},
		{name: "replaced politely", harm: (*ensembleFleet).replaces, night: true},
	}
	faultsOfNetworks = []zkFault{
		{name: "cut off from Redis, which it is not told", harm: (*ensembleFleet).mutesRedis},
		{name: "cut off from Redis by resets", harm: (*ensembleFleet).resetsRedis, night: true},
		{name: "cut off from Redis for two sessions, which it is not told", harm: (*ensembleFleet).partsSilently},
		{name: "cut off from Redis for two sessions by resets", harm: (*ensembleFleet).partsByResets, night: true},
		{name: "its node deleted by an operator", harm: (*ensembleFleet).deletes},
	}
	faultsOfZooKeeper = []zkFault{
		{name: "ZooKeeper's leader killed", harm: (*ensembleFleet).killsLeader},
		{name: "ZooKeeper's leader hung", harm: (*ensembleFleet).hangsLeader, night: true},
		{name: "the whole ensemble down and back", harm: (*ensembleFleet).downs},
	}
)

// Every kind of fault once, in an order drawn by RMQ_SEED, while the load goes on: by day in three
// fleets beside each other; by night all of them twelve times in one.
func TestZooKeeperFaults(t *testing.T) {
	t.Parallel()
	if night.Is() {
		ensemble := servertest.Ensemble(t, 3)
		harmed(&ensembleFleet{newFleet(t, ensemble, "/rmq"), ensemble}, slices.Concat(faultsOfWorkers, faultsOfNetworks, faultsOfZooKeeper), 12)
		return
	}
	for name, faults := range map[string][]zkFault{"workers": faultsOfWorkers, "networks": faultsOfNetworks} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zk := servertest.SharedZooKeeper(t)
			harmed(&ensembleFleet{fleet: newFleet(t, zk, zk.Chroot(t))}, faults, 1)
		})
	}
	t.Run("ZooKeeper", func(t *testing.T) {
		t.Parallel()
		ensemble := servertest.Ensemble(t, 3)
		harmed(&ensembleFleet{newFleet(t, ensemble, "/rmq"), ensemble}, faultsOfZooKeeper, 1)
	})
}

// harmed has a fleet bear the faults, so many times each.
func harmed(f *ensembleFleet, faults []zkFault, rounds int) {
	f.Poisonous = night.Times(200, 500)
	for range rounds {
		for _, i := range f.Random.Perm(len(faults)) {
			if fault := faults[i]; night.Is() || !fault.night {
				w := f.workers[f.Random.IntN(len(f.workers))]
				begun := time.Now()
				fault.harm(f, w)
				f.T.Logf("%s: %s; all was well again after %v", w.Name, fault.name, time.Since(begun).Round(time.Millisecond))
			}
		}
	}
	f.shown()
	f.Drain()
	f.judge(1)
}

// judge checks the logs of a run with faults, and logs the figures. A slot may be with so
// many workers in a row that die.
func (f *fleet) judge(inARow int) proctest.Report {
	f.T.Helper()
	r := f.Check()
	if r.Dead != f.Poisoned {
		f.T.Errorf("%d contents are dead, want the %d poisonous ones", r.Dead, f.Poisoned)
	}
	again := map[proctest.Kind]int{}
	for _, a := range r.Again {
		again[a.Cause]++
	}
	frozen, slots := map[string]int{}, map[place]bool{}
	for _, o := range r.Frozen {
		frozen[o.Earlier.Worker]++
		slots[place{o.Earlier.Topic, o.Earlier.Slot}] = true
	}
	f.T.Logf("contents that were done again, by cause: %v; %d slots in which handlers began while an earlier one, of a worker that could not know, had not ended: %v",
		again, len(slots), frozen)
	for _, e := range f.Events() {
		if e.Kind == proctest.Fail && strings.HasSuffix(e.Content, " "+workers.Hang) && !strings.Contains(e.Note, rmq.ErrLeaseLost.Error()) {
			f.T.Errorf("the context of a handler whose worker lost its session ended by %q: %+v", e.Note, e)
		}
	}
	after := map[proctest.Kind][]time.Duration{}
	for _, x := range f.takeovers(proctest.Kill, proctest.Freeze, proctest.Cut, proctest.Part, proctest.Rob) {
		after[x.Fault.Kind] = append(after[x.Fault.Kind], x.After)
	}
	for _, kind := range slices.Sorted(maps.Keys(after)) {
		limit := time.Duration(inARow)*f.Job.Session + takeoverLimit
		if kind == proctest.Part {
			limit += f.Job.Session
		}
		night.AtMost(f.T, fmt.Sprintf("the longest take-over after %q", kind), slices.Max(after[kind]), limit)
		f.T.Logf("taken over after %q, with a session of %v: %s", kind, f.Job.Session, proctest.Spread(after[kind]))
	}
	return r
}

// taken waits until another works at each of the slots, or the same under another id.
func (f *fleet) taken(from *worker, id string, all []place) {
	f.T.Helper()
	since := time.Now().UnixNano()
	f.During(fmt.Sprintf("others work at the %d slots of %s", len(all), from.Name), func() bool {
		for _, p := range all {
			if last := f.Last(p.topic, p.slot); last.At < since || last.Note == id {
				return false
			}
		}
		return true
	})
}

// strike harms a worker that is busy, and waits until others go on at its slots.
func (f *fleet) strike(w *worker, harm func()) {
	f.T.Helper()
	id, all := f.ids()[w.Name], f.mine(w)
	f.occupy(w, 3, workers.Hang)
	harm()
	f.taken(w, id, all)
}

func (f *ensembleFleet) kills(w *worker) {
	f.strike(w, w.Kill)
	f.gone(w)
	f.join(f.add())
}

func (f *ensembleFleet) freezes(w *worker) {
	f.strike(w, w.Freeze)
	begun := time.Now()
	f.During("it stays frozen", func() bool { return time.Since(begun) > f.Job.Session/2 })
	w.Thaw()
	f.settle("a thaw")
}

func (f *ensembleFleet) mutes(w *worker) {
	f.cuts(w, (*servertest.Proxy).Freeze, (*servertest.Proxy).Thaw)
}

func (f *ensembleFleet) resets(w *worker) {
	f.cuts(w, (*servertest.Proxy).Cut, (*servertest.Proxy).Mend)
}

func (f *ensembleFleet) cuts(w *worker, cut, mend func(*servertest.Proxy)) {
	f.strike(w, func() {
		for _, p := range w.toZooKeeper {
			cut(p)
		}
		f.Note(proctest.Cut, w.Name)
	})
	f.Note(proctest.Mend, w.Name)
	for _, p := range w.toZooKeeper {
		mend(p)
	}
	f.settle("it was cut off from ZooKeeper")
}

func (f *ensembleFleet) mutesRedis(w *worker) {
	f.cutsRedis(w, (*servertest.Proxy).Freeze, (*servertest.Proxy).Thaw)
}

func (f *ensembleFleet) resetsRedis(w *worker) {
	f.cutsRedis(w, (*servertest.Proxy).Cut, (*servertest.Proxy).Mend)
}

// cutsRedis: its session lives, so its slots wait for it, for longer than a session,
// and nothing is repeated.
func (f *ensembleFleet) cutsRedis(w *worker, cut, mend func(*servertest.Proxy)) {
	for tries := 1; ; tries++ { // a machine that stands still for a session ends that, but not each time
		f.occupy(w, 3, workers.Slow)
		id, before := f.ids()[w.Name], f.owners()
		cut(w.toRedis)
		begun := time.Now()
		f.During("it is away for longer than a session", func() bool { return time.Since(begun) > f.Job.Session*5/4 })
		mend(w.toRedis)
		f.taken(w, "", f.mine(w))
		now, moved := f.ids()[w.Name], f.moved(before)
		if now == id && len(moved) == 0 {
			return
		}
		if tries == 3 {
			f.T.Fatalf("%s became %s, and slots were moved: %v; it has lost Redis, not its session", id, now, moved)
		}
	}
}

func (f *ensembleFleet) partsSilently(w *worker) {
	f.parts(w, (*servertest.Proxy).Freeze, (*servertest.Proxy).Thaw)
}

func (f *ensembleFleet) partsByResets(w *worker) {
	f.parts(w, (*servertest.Proxy).Cut, (*servertest.Proxy).Mend)
}

// parts cuts a worker off from Redis until others have its slots.
func (f *ensembleFleet) parts(w *worker, cut, mend func(*servertest.Proxy)) {
	f.strike(w, func() {
		cut(w.toRedis)
		f.Note(proctest.Part, w.Name)
	})
	f.Note(proctest.Join, w.Name)
	mend(w.toRedis)
	f.settle("it was cut off from Redis")
}

func (f *ensembleFleet) expires(w *worker) {
	_, session := f.nodes.Read(f.Job.Root + "/workers/" + f.ids()[w.Name])
	f.strike(w, func() {
		f.Note(proctest.Rob, w.Name)
		f.zk.ExpireSession(f.T, session)
	})
	f.settle("a session was ended by force")
}

func (f *ensembleFleet) deletes(w *worker) {
	node := f.Job.Root + "/workers/" + f.ids()[w.Name]
	f.strike(w, func() {
		f.Note(proctest.Rob, w.Name)
		f.nodes.Delete(node)
	})
	f.settle("a worker's node was deleted")
}

func (f *ensembleFleet) killsLeader(w *worker) {
	f.withoutLeader((*servertest.ZooKeeperServer).Kill, func(m *servertest.ZooKeeperServer) { m.Restart(f.T) })
}

func (f *ensembleFleet) hangsLeader(w *worker) {
	f.withoutLeader((*servertest.ZooKeeperServer).Pause, (*servertest.ZooKeeperServer).Resume)
}

// withoutLeader takes the leader away for a while. Nobody may need to notice.
func (f *ensembleFleet) withoutLeader(harm, heal func(m *servertest.ZooKeeperServer)) {
	before := f.owners()
	leader := f.ensemble.Leader(f.T)
	harm(leader)
	begun := time.Now()
	f.During("the others go on", func() bool { return time.Since(begun) > f.Job.Session*3/2 })
	heal(leader)
	f.ensemble.AwaitReady(f.T)
	f.settle("the leader was away")
	f.T.Logf("the leader was away: slots moved: %v", f.moved(before))
}

// downs: nobody hears of ZooKeeper, and so nobody begins anything, until it is back.
func (f *ensembleFleet) downs(*worker) {
	for _, w := range f.workers[:3] {
		f.occupy(w, 1, workers.Hang)
	}
	ids, owners := f.ids(), f.owners()
	f.ensemble.Kill()
	f.Note(proctest.Down, "")
	begun := time.Now()
	running := func() (n int) {
		for _, w := range f.workers {
			n += f.Open(w.Name)
		}
		return n
	}
	f.During("all handlers have stopped", func() bool { return running() == 0 && time.Since(begun) > f.Job.Session })
	f.During("it stays away", func() bool { return time.Since(begun) > f.Job.Session*3/2 })
	f.Note(proctest.Up, "")
	f.ensemble.Restart(f.T)
	back := time.Now()
	f.taken(f.workers[0], "", slices.Collect(maps.Keys(f.owners())))
	f.T.Logf("all slots were worked at %v after the ensemble was back", time.Since(back).Round(time.Millisecond))
	f.settle("the ensemble was away")
	f.T.Logf("the workers were %v and are %v; slots moved: %v", ids, f.ids(), f.moved(owners))
}

func (f *ensembleFleet) replaces(w *worker) {
	f.join(f.add())
	f.leave(w)
	f.settle("one was replaced")
}
