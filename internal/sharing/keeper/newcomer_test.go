package keeper

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// lived makes a fleet at a topic, with a beat of a second: of each worker since when it is
// there and when it has written last, in ms.
func lived(workers map[string][2]int64) *fleet {
	f := &fleet{workers: map[string]workerNode{}, lives: map[string]*life{}}
	for id, at := range workers {
		f.workers[id] = workerNode{Topics: map[string]float64{"x": 1}}
		f.lives[id] = &life{came: at[0], born: at[0], heard: at[1], last: at[1], seen: time.Unix(100, 0)}
		f.newest = max(f.newest, at[1])
	}
	return f
}

func TestNewcomersProveThemselves(t *testing.T) {
	t.Parallel()
	const timeout, now = 8 * time.Second, 101
	type workers = map[string][2]int64
	leaves := func(id string) func(*fleet) {
		return func(f *fleet) {
			delete(f.workers, id)
			f.lives[id].leaves, f.leavers = true, []string{id}
		}
	}
	mute := func(id string) func(*fleet) { return func(f *fleet) { f.lives[id].mute = true } }
	for name, c := range map[string]struct {
		workers workers // a, b and c have slots
		change  func(*fleet)
		want    string
	}{
		"proven, and all are heard":             {workers: workers{"a": {0, 99000}, "b": {0, 99500}, "c": {0, 98500}, "w": {98000, 100000}}, want: "abcw"},
		"not proven":                            {workers: workers{"a": {0, 99000}, "b": {0, 99500}, "c": {0, 98500}, "w": {98000, 99999}}, want: "abc"},
		"one is silent":                         {workers: workers{"a": {0, 99000}, "b": {0, 99500}, "c": {0, 97999}, "w": {98000, 100000}}, want: "abc"},
		"one is silent, for two timeouts":       {workers: workers{"a": {0, 99000}, "b": {0, 99500}, "c": {0, 97999}, "w": {98000, 100000}}, change: func(f *fleet) { f.lives["w"].seen = time.Unix(now-16, 0) }, want: "abcw"},
		"one that leaves is silent":             {workers: workers{"a": {0, 99000}, "b": {0, 99500}, "l": {0, 97999}, "w": {98000, 100000}}, change: leaves("l"), want: "ab"},
		"one that leaves is heard":              {workers: workers{"a": {0, 99000}, "b": {0, 99500}, "l": {0, 98001}, "w": {98000, 100000}}, change: leaves("l"), want: "abw"},
		"the node of one is deleted":            {workers: workers{"a": {0, 99000}, "b": {0, 97999}, "w": {98000, 100000}}, change: mute("b"), want: "abw"},
		"the node of the newcomer is deleted":   {workers: workers{"a": {0, 99000}, "b": {0, 99000}, "w": {97000, 97000}}, change: mute("w"), want: "abw"},
		"a fleet starts":                        {workers: workers{"a": {98000, 99999}, "u": {99900, 99900}, "w": {99950, 99950}}, want: "auw"},
		"a fleet has started":                   {workers: workers{"a": {98000, 100000}, "u": {99900, 99900}, "w": {99950, 99950}}, want: "a"},
		"all are silent":                        {workers: workers{"a": {0, 97000}, "b": {0, 97000}, "w": {98000, 100000}}, want: "abw"},
		"all are silent, and it is not proven":  {workers: workers{"a": {0, 97000}, "b": {0, 97000}, "w": {98000, 99999}}, want: "ab"},
		"all are silent but one that is young":  {workers: workers{"a": {0, 97000}, "b": {98200, 99900}, "w": {98000, 100000}}, want: "abw"},
		"nobody has slots":                      {workers: workers{"u": {99900, 99900}, "w": {99950, 99950}}, want: "uw"},
		"newcomers died one after the other":    {workers: workers{"a": {0, 99000}, "u": {90000, 93000}, "v": {94000, 97000}, "w": {98000, 100000}}, want: "aw"},
		"and so they did when all are silent":   {workers: workers{"a": {0, 80000}, "u": {90000, 93000}, "v": {94000, 97000}, "w": {98000, 100000}}, want: "aw"},
		"one that had slots has vanished":       {workers: workers{"a": {0, 99000}, "w": {98000, 100000}}, change: func(f *fleet) { delete(f.workers, "b"); delete(f.lives, "b") }, want: "a, b"},
		"all that had slots have vanished":      {workers: workers{"u": {99900, 99900}, "w": {98000, 100000}}, change: func(f *fleet) {}, want: "uw, ab"},
		"one that has left had slots until now": {workers: workers{"a": {0, 99000}, "b": {0, 99000}, "w": {98000, 100000}}, change: leaves("b"), want: "aw, b"},
	} {
		f := lived(c.workers)
		if c.change != nil {
			c.change(f)
		}
		var owners []string
		want, others, _ := strings.Cut(c.want, ", ")
		for _, id := range []string{"a", "b", "c"} {
			if f.workers[id].Topics != nil || strings.Contains(others, id) {
				owners = append(owners, id)
			}
		}
		var got []string
		for _, m := range f.admitted("x", owners, timeout, time.Unix(now, 0)) {
			got = append(got, m.id)
		}
		if slices.Sort(got); strings.Join(got, "") != want {
			t.Errorf("%s: %v share the slots of %v, not %s", name, got, owners, want)
		}
	}
}

// proven waits until a worker has lived for a while.
func (p *place) proven(t *testing.T, m *Member) {
	t.Helper()
	await.Nil(t, m.ID()+" is proven", func() error {
		_, came, err := p.conn.Exists(p.worker(m.ID()))
		_, wrote, err2 := p.conn.Exists(p.owned(m.ID()))
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		if lived := time.Duration(wrote.Mtime-came.Ctime) * time.Millisecond; lived < m.Timeout()*trial/session.Beats {
			return fmt.Errorf("%v", lived)
		}
		return nil
	})
}

// A newcomer gets its share when it has proven itself. (If nobody listened for that, it
// would get it after two session timeouts, which are longer than any test waits.)
func TestNewcomerGetsItsShare(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	k := New(config(string(p.tree), 31*time.Second, p.srv.Servers()...))
	a := join(t, k, worker())
	p.has(t, "orders", map[string]int{a.ID(): 16})
	p.proven(t, a)
	b := join(t, k, worker())
	p.has(t, "orders", map[string]int{a.ID(): 8, b.ID(): 8})
}

// A worker crashes soon after each start: whatever its rhythm, no more than one share
// stands still because of it, and no slot goes from one that is dead to the next.
func TestWorkerThatCrashesAgainAndAgain(t *testing.T) {
	t.Parallel()
	random := sharetest.Rand(t)
	p := newPlace(t)
	const timeout = 8 * time.Second
	k := New(config(string(p.tree), timeout, p.srv.Servers()...))
	living := map[string]bool{}
	for _, m := range []*Member{join(t, k, worker()), join(t, k, worker()), join(t, k, worker())} {
		living[m.ID()] = true
		p.proven(t, m)
	}
	await.Nil(t, "they have all slots", func() error {
		a, _ := p.assigned(t, "orders")
		if has := a.workers(); len(has) != len(living) {
			return fmt.Errorf("%v", has)
		}
		return nil
	})

	var running sync.WaitGroup
	defer running.Wait()
	dead := map[string]bool{}
	last, _ := p.assigned(t, "orders")
	fair, worst := ceil(orders.Slots, len(living)+1), 0
	look := func() assignment {
		a, _ := p.assigned(t, "orders")
		still := 0
		for slot, owner := range a.owners {
			if dead[owner] {
				still++
			}
			if a.gen == last.gen+1 && dead[last.owners[slot]] && !living[owner] && owner != last.owners[slot] {
				t.Errorf("slot %d went from a dead worker to a newcomer", slot)
			}
		}
		last, worst = a, max(worst, still)
		return a
	}
	had := false
	looks := time.NewTicker(10 * time.Millisecond) // a share moves ten times slower
	defer looks.Stop()
	for starts, withSlots := 0, 0; withSlots < 2; starts++ {
		if starts > 40 {
			t.Fatal("newcomers get no slots")
		}
		m, err := k.Join(await.Context(t), worker())
		if err != nil {
			t.Fatal(err)
		}
		ends := time.Now().Add(await.Patience) // or when it has its share: so does who comes after one with a share
		if !had && random.IntN(2) == 0 {
			ends = time.Now().Add(time.Duration(random.Int64N(int64(timeout / 3))))
		}
		for had = false; time.Now().Before(ends) && !had; <-looks.C {
			if had = slices.Contains(look().workers(), m.ID()); had {
				withSlots++
			}
		}
		dead[m.ID()] = true
		running.Go(m.Abandon)
		if look(); worst > fair {
			t.Fatalf("%d slots stand still after %d starts; %d are a fair share", worst, starts+1, fair)
		}
	}
	await.Nil(t, "the living have all again", func() error {
		for _, owner := range look().owners {
			if !living[owner] {
				return fmt.Errorf("%s has some", owner)
			}
		}
		return nil
	})
	if worst == 0 {
		t.Error("no slot stood still, so this proves nothing")
	}
}

// One that has just come stands for election later than all others. It may crash, and
// the slots of the dead would wait until its session has ended.
func TestNewcomerDoesNotCoordinateBeforeOthers(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	slow := func(c *candidate) { c.spread = 2 * time.Second } // so that a busy machine does not change their order
	leader := p.candidate(t, "c0", slow)
	p.leader(t)
	proxy := servertest.NewProxy(t, p.srv.Addr())
	looks := make(chan struct{})
	var once sync.Once
	proxy.OnRequest(func(b []byte) bool {
		if slices.ContainsFunc(requests(b), func(r request) bool { return r.path == p.coordinator() }) {
			once.Do(func() { close(looks) })
		}
		return true
	})
	s := opened(t, config("/", long, proxy.Addr()))
	young := func(c *candidate) { c.since = time.Now() }
	p.stands(t, s, "new", young, slow)
	await.Signal(t, "it finds another one in office", looks)
	for i := range night.Times(1, 5) {
		next := p.candidate(t, fmt.Sprintf("c%d", i+1), slow)
		leader.stop()
		if id, _ := p.leader(t, leader.id); id != next.id {
			t.Fatalf("%s was elected", id)
		}
		leader = next
	}
}

// How long one waits until it stands for election: with one that has just come, and with one
// that has lived for a session timeout.
func TestWhenMembersStandForElection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &candidate{since: time.Now(), spread: usualSpread}
		between := func(least, most time.Duration) {
			t.Helper()
			for range 1000 {
				if d := c.pause(8 * time.Second); d < least || d >= most {
					t.Fatalf("after %v: it waits for %v", time.Since(c.since), d)
				}
			}
		}
		between(300*time.Millisecond, 600*time.Millisecond)
		await.Silence(t, "anything", make(chan struct{}), 8*time.Second-1)
		between(300*time.Millisecond, 600*time.Millisecond)
		await.Silence(t, "anything", make(chan struct{}), 1)
		between(0, 300*time.Millisecond)
	})
}
