package fleets

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/system/workers"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/slots"
)

// fleet is some worker processes whose slots ZooKeeper shares out, under a steady
// load. What ZooKeeper holds is read by a client that knows nothing of RMQ.
type fleet struct {
	*workers.Load
	zk      zooKeeper
	nodes   *servertest.Nodes
	workers []*worker
	looked  time.Time // when the nodes were read last
}

// zooKeeper is a server or an ensemble.
type zooKeeper interface {
	Servers() []string
	Nodes(t testing.TB) *servertest.Nodes
	ExpireSession(t testing.TB, id int64)
}

// worker is a process, and what lies between it and its servers.
type worker struct {
	*proctest.Process
	toZooKeeper []*servertest.Proxy
	toRedis     *servertest.Proxy
}

// How large a fleet is, and how much it does: four workers, 32 slots and 80 messages a second by
// day; eight, 256 and 400 by night.
var (
	fleetSize  = night.Times(4, 8)
	fleetSlots = night.Times(32, 256)
	fleetRate  = night.Times(80, 400)
)

// topics are three, one of each kind.
func topics() []rmq.Topic {
	return []rmq.Topic{
		{Name: "prices", Kind: rmq.KindRangeMerge, Slots: fleetSlots / 2},
		{Name: "pictures", Kind: rmq.KindPriority, Slots: fleetSlots / 4},
		{Name: "reminders", Kind: rmq.KindFixedTime, Slots: fleetSlots / 4},
	}
}

// newFleet starts the workers and returns when each works at its slots. Adjust
// changes the job of all.
func newFleet(t *testing.T, zk zooKeeper, root string, adjust ...func(*workers.Job)) *fleet {
	t.Helper()
	return newFleetOf(t, zk, root, fleetSize, adjust...)
}

// newFleetOf is newFleet for so many workers.
func newFleetOf(t *testing.T, zk zooKeeper, root string, size int, adjust ...func(*workers.Job)) *fleet {
	t.Helper()
	j := workers.Job{
		Topics: topics(), ZooKeeper: zk.Servers(), Session: time.Duration(night.Times(5, 3)) * time.Second, Root: root,
		Work: 200 * time.Millisecond, Backoff: 10 * time.Millisecond,
	}
	for _, f := range adjust {
		f(&j)
	}
	f := &fleet{Load: workers.NewLoad(t, j), zk: zk, nodes: zk.Nodes(t)}
	f.Rate, f.Backlog, f.Evenly = fleetRate, 8000, map[string][]string{}
	for _, topic := range j.Topics {
		for slot := range topic.Slots {
			f.Evenly[topic.Name] = append(f.Evenly[topic.Name], basisFor(topic, slot))
		}
		f.Random.Shuffle(topic.Slots, func(i, k int) {
			all := f.Evenly[topic.Name]
			all[i], all[k] = all[k], all[i]
		})
	}
	for range size {
		f.add()
	}
	f.join(f.workers...)
	return f
}

// basisFor is a basis of a slot.
func basisFor(t rmq.Topic, slot int) string {
	for i := 0; ; i++ {
		if basis := fmt.Sprintf("%s-b%d", t.Name, i); slots.Of(basis, t.Slots) == slot {
			return basis
		}
	}
}

// add starts the process of a worker that does not work yet.
func (f *fleet) add() *worker {
	f.T.Helper()
	w := &worker{toRedis: servertest.NewProxy(f.T, f.Server.Addr())}
	w.Process = f.Warm(func(j *workers.Job) {
		j.Redis, j.ZooKeeper = w.toRedis.Addr(), nil
		for _, addr := range f.zk.Servers() {
			p := servertest.NewProxy(f.T, addr)
			w.toZooKeeper = append(w.toZooKeeper, p)
			j.ZooKeeper = append(j.ZooKeeper, p.Addr())
		}
	})
	f.workers = append(f.workers, w)
	return w
}

// join lets workers begin, and returns when all work at their share.
func (f *fleet) join(ws ...*worker) {
	f.T.Helper()
	for _, w := range ws {
		f.During(w.Name+" is there", f.Seen(w.Name, proctest.Warm))
		w.Go()
	}
	for _, w := range ws {
		f.During(w.Name+" has started", f.Seen(w.Name, proctest.Ready))
	}
	f.settle("workers have joined")
}

// gone forgets a worker that has no process any more, or soon.
func (f *fleet) gone(w *worker) {
	f.workers = slices.DeleteFunc(slices.Clone(f.workers), func(x *worker) bool { return x == w })
}

// leave stops a worker politely, and returns when it is gone.
func (f *fleet) leave(w *worker) {
	f.T.Helper()
	f.gone(w)
	w.Term()
	f.During(w.Name+" has left", func() bool { return f.left(w) })
	if _, err := w.Gone(); err != nil {
		f.T.Errorf("%s did not stop politely: %v", w.Name, err)
	}
	f.During(w.Name+" has closed", f.Seen(w.Name, proctest.Closed))
}

func (f *fleet) left(w *worker) bool {
	gone, _ := w.Gone()
	return gone
}

// lookEvery is how often the nodes are read while something is waited for.
const lookEvery = 100 * time.Millisecond

// looking keeps the load up until what the nodes hold fits.
func (f *fleet) looking(what string, fits func() bool) {
	f.T.Helper()
	f.During(what, func() bool {
		if time.Since(f.looked) < lookEvery {
			return false
		}
		f.looked = time.Now()
		return fits()
	})
}

// settle waits until the slots are shared out evenly among all workers, and each
// slot was worked at since by the one it belongs to: what the nodes say may be old.
func (f *fleet) settle(after string) {
	f.T.Helper()
	since := time.Now().UnixNano()
	f.looking("every slot is where it belongs, after "+after, func() bool {
		ids := f.ids()
		if len(ids) != len(f.workers) {
			return false
		}
		for _, t := range f.Job.Topics {
			count := map[string]int{}
			for slot, id := range f.assigned(t) {
				if last := f.Last(t.Name, slot); last.At < since || last.Note != id {
					return false
				}
				count[id]++
			}
			for _, id := range ids {
				if least := t.Slots / len(ids); count[id] < least || count[id] > least+1 {
					return false
				}
			}
		}
		return true
	})
}

// shown waits until people are shown what is so: each worker holds what is its own.
func (f *fleet) shown() {
	f.T.Helper()
	f.looking("each worker shows its share", func() bool {
		for _, id := range f.ids() {
			if f.held(id) != f.share(id) {
				return false
			}
		}
		return true
	})
}

// ids are the ids of the workers that have one, by name.
func (f *fleet) ids() map[string]string {
	f.T.Helper()
	ids := map[string]string{}
	for _, child := range f.nodes.Children(f.Job.Root + "/workers") {
		for _, w := range f.workers {
			if strings.HasPrefix(child, w.Name+"-") && !strings.Contains(child, "!") {
				ids[w.Name] = child
			}
		}
	}
	return ids
}

// assigned tells who is to work at each slot of a topic; empty: nobody.
func (f *fleet) assigned(t rmq.Topic) []string {
	f.T.Helper()
	data, _ := f.nodes.Read(f.Job.Root + "/assign/" + t.Name)
	owners := make([]string, t.Slots)
	if len(data) == 0 {
		return owners
	}
	var n struct {
		V       int
		Gen     int64
		Workers []string
		Map     []byte
	}
	if err := json.Unmarshal(data, &n); err != nil || n.V != 1 || len(n.Map) != 2*t.Slots {
		f.T.Fatalf("assignment of %s: %v, %s", t.Name, err, data)
	}
	for slot := range owners {
		if i := int(binary.BigEndian.Uint16(n.Map[2*slot:])); i < len(n.Workers) {
			owners[slot] = n.Workers[i]
		}
	}
	return owners
}

// place is a slot of a topic.
type place struct {
	topic string
	slot  int
}

// owners tells of all slots who is to work there.
func (f *fleet) owners() map[place]string {
	f.T.Helper()
	all := map[place]string{}
	for _, t := range f.Job.Topics {
		for slot, id := range f.assigned(t) {
			all[place{t.Name, slot}] = id
		}
	}
	return all
}

// moved counts the slots that have another owner than before, by topic.
func (f *fleet) moved(before map[place]string) map[string]int {
	f.T.Helper()
	n := map[string]int{}
	for p, id := range f.owners() {
		if before[p] != id {
			n[p.topic]++
		}
	}
	return n
}

// share is what a worker is to have, as people are shown what it holds.
func (f *fleet) share(id string) string {
	f.T.Helper()
	all := map[string]string{}
	for _, t := range f.Job.Topics {
		var own []int
		for slot, owner := range f.assigned(t) {
			if owner == id {
				own = append(own, slot)
			}
		}
		if len(own) > 0 {
			all[t.Name] = ranges(own)
		}
	}
	return fmt.Sprint(all)
}

// held is what a worker says it holds.
func (f *fleet) held(id string) string {
	f.T.Helper()
	data, _ := f.nodes.Read(f.Job.Root + "/owned/" + id)
	var n struct{ Topics map[string]string }
	if len(data) > 0 {
		if err := json.Unmarshal(data, &n); err != nil {
			f.T.Fatalf("what %s holds: %v, %s", id, err, data)
		}
	}
	return fmt.Sprint(n.Topics)
}

// ranges writes ascending numbers like 0-7,12.
func ranges(numbers []int) string {
	var b strings.Builder
	for i, n := range numbers {
		switch first, last := i == 0 || numbers[i-1] != n-1, i == len(numbers)-1 || numbers[i+1] != n+1; {
		case first && i > 0:
			fmt.Fprintf(&b, ",%d", n)
		case first:
			fmt.Fprint(&b, n)
		case last:
			fmt.Fprintf(&b, "-%d", n)
		}
	}
	return b.String()
}

// mine are the slots that a worker is to work at.
func (f *fleet) mine(w *worker) (all []place) {
	f.T.Helper()
	id := f.ids()[w.Name]
	for _, t := range f.Job.Topics {
		for slot, owner := range f.assigned(t) {
			if owner == id && id != "" {
				all = append(all, place{t.Name, slot})
			}
		}
	}
	return all
}

// occupy has a worker begin some handlers that do what is ordered, each in another
// slot of its own, spread over the topics, and returns their contents.
func (f *fleet) occupy(w *worker, n int, order string) (contents []string) {
	f.T.Helper()
	all := f.mine(w)
	if len(all) == 0 {
		f.T.Fatalf("%s has no slot", w.Name)
	}
	for i := range n {
		p := all[i*len(all)/n]
		for _, t := range f.Job.Topics {
			if t.Name == p.topic {
				s := workers.Content(basisFor(t, p.slot), len(f.Sent), order)
				f.Send(t, f.Message(t, basisFor(t, p.slot), s))
				contents = append(contents, s)
			}
		}
	}
	enough := n
	if order == workers.Slow { // the first may be through when the last begins
		enough = 1
	}
	f.During(fmt.Sprintf("%s handles what shall %s", w.Name, order), func() bool {
		running := 0
		for _, s := range contents {
			if f.Runs(w.Name, s) {
				running++
			}
		}
		return running >= enough
	})
	return contents
}
