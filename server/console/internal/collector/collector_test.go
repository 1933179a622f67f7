package collector

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// moved is a collector whose clock is moved by hand, and by readings that take so long.
type moved struct {
	*Collector
	now   time.Time
	took  time.Duration
	fails error
	reads int
}

// byTime is a meter that knows only how long a reading took.
func byTime(context.Context) func(time.Duration) (time.Duration, bool) {
	return func(took time.Duration) (time.Duration, bool) { return took, false }
}

func newMoved() *moved {
	m := &moved{Collector: newCollector(byTime), now: time.Unix(1e9, 0), took: 10 * time.Millisecond}
	m.Collector.now = func() time.Time { return m.now }
	return m
}

func (m *moved) read(context.Context) (any, error) {
	m.reads++
	m.now = m.now.Add(m.took)
	if m.fails != nil {
		return nil, m.fails
	}
	return m.reads, nil
}

// follows watches some subjects.
func (m *moved) follows(names map[string]bool) (w *Watch, stop func()) {
	w, stop = m.Watch()
	m.Follow(w, names)
	return w, stop
}

// pass lets some time go by: what becomes due is read.
func (m *moved) pass(d time.Duration) {
	for end := m.now.Add(d); m.now.Before(end); {
		s, busy, wait := m.next()
		if s != nil {
			m.Collector.read(context.Background(), s, busy)
			continue
		}
		m.now = m.now.Add(min(max(wait, time.Millisecond), end.Sub(m.now)))
	}
}

// However many subjects are watched and asked for, a hundredth of the time is spent on them.
func TestShare(t *testing.T) {
	t.Parallel()
	for _, took := range []time.Duration{time.Millisecond, 30 * time.Millisecond, time.Second} {
		m := newMoved()
		m.took = took
		names := map[string]bool{"a": true, "b": true, "c": true}
		for name := range names {
			m.Get(context.Background(), name, false, m.read)
		}
		for range 20 {
			_, stop := m.follows(names)
			defer stop()
		}
		began, first := m.now, m.reads
		for range 20_000 {
			m.pass(100 * time.Millisecond)
			m.Get(context.Background(), "a", false, m.read)
		}
		spent := time.Duration(m.reads-first) * took
		if most := m.now.Sub(began)/share + time.Duration(len(names))*took; spent > most || m.reads-first < 10 {
			t.Errorf("%v each: %d readings take %v, of at most %v", took, m.reads-first, spent, most)
		}
		if took == time.Millisecond && m.reads-first < 2*800 {
			t.Errorf("only %d readings, and there was time for more", m.reads-first)
		}
	}
}

// So it is with pages that people load again and again. What they ask for once does not slow down the rest.
func TestShareOfReloads(t *testing.T) {
	t.Parallel()
	m := newMoved()
	m.took = 100 * time.Millisecond
	began := m.now
	for range 2000 {
		for name := range strings.SplitSeq("abcdefghij", "") {
			m.Get(context.Background(), name, false, m.read)
		}
		m.pass(time.Second)
	}
	if spent, most := time.Duration(m.reads)*m.took, m.now.Sub(began)/share+10*m.took; spent > most || spent < most*3/4 {
		t.Errorf("%d readings take %v, of at most %v", m.reads, spent, most)
	}
	m.pass(shownFor)
	for name := range strings.SplitSeq("klmnopqrst", "") {
		m.Get(context.Background(), name, true, m.read)
	}
	if n := m.wanted(); n != 1 {
		t.Errorf("%d subjects are read again and again", n)
	}
}

// One subject that costs much does not keep the others waiting: each has its part of the share.
func TestCostly(t *testing.T) {
	t.Parallel()
	m := newMoved()
	light, heavy := 0, 0
	reads := func(n *int, took time.Duration) func(context.Context) (any, error) {
		return func(context.Context) (any, error) {
			*n++
			m.now = m.now.Add(took)
			return *n, nil
		}
	}
	m.Get(context.Background(), "light", false, reads(&light, time.Millisecond))
	m.Get(context.Background(), "heavy", false, reads(&heavy, 10*time.Second))
	_, stop := m.follows(map[string]bool{"light": true, "heavy": true})
	defer stop()
	const span = 10 * time.Hour
	m.pass(span)
	if most := span / pace; light < int(most*9/10) { // it waits only while the other one is read
		t.Errorf("%d readings of what costs little, of %d", light, most)
	}
	if spent := time.Duration(heavy)*10*time.Second + time.Duration(light)*time.Millisecond; spent > span/share+10*time.Second {
		t.Errorf("%d readings of what costs much: %v", heavy, spent)
	}
	if heavy < 10 {
		t.Errorf("%d readings of what costs much", heavy)
	}
}

// While a reading waits for a second look, it costs no server anything.
func TestSleepIsNoCost(t *testing.T) {
	t.Parallel()
	m := newMoved()
	counted := func(ctx context.Context) (any, error) {
		wait.Sleep(ctx, 20*time.Millisecond) // or longer
		m.now = m.now.Add(20 * time.Millisecond)
		return 1, nil
	}
	m.Get(context.Background(), "a", false, counted)
	if owes := m.subjects["a"].owes; owes > 0 {
		t.Errorf("it owes %v", owes)
	}
}

// What is not watched is not read, and forgotten in the end; what is kept is read now and then.
func TestWatched(t *testing.T) {
	t.Parallel()
	m := newMoved()
	m.Get(context.Background(), "a", false, m.read)
	m.pass(time.Minute)
	if m.reads != 1 {
		t.Errorf("%d readings without a viewer", m.reads)
	}
	w, stop := m.follows(map[string]bool{"a": true})
	m.pass(time.Minute)
	if m.reads < 20 || m.reads > 31 {
		t.Errorf("%d readings in a minute", m.reads)
	}
	select {
	case <-w.Changed:
	default:
		t.Error("the viewer does not hear of them")
	}
	m.Get(context.Background(), "b", true, m.read)
	select {
	case <-w.Changed:
		t.Error("the viewer hears of what its page does not show")
	default:
	}
	stop()
	m.pass(forgetAfter + time.Second)
	if len(m.subjects) != 0 {
		t.Error("it is not forgotten")
	}
	m.reads = 0
	m.Keep("topics", 15*time.Second, m.read)
	m.pass(time.Minute)
	if m.reads < 4 || m.reads > 5 {
		t.Errorf("%d readings of what is kept", m.reads)
	}
}

// What went wrong is there beside what was known before, and is tried again soon, however long it took.
func TestAway(t *testing.T) {
	t.Parallel()
	m := newMoved()
	m.Get(context.Background(), "a", false, m.read)
	_, stop := m.follows(map[string]bool{"a": true})
	defer stop()
	m.fails, m.took = errors.New("Redis is away"), readWithin
	m.pass(time.Minute)
	got := m.Get(context.Background(), "a", false, m.read)
	if got.Value != 1 || got.Err == nil || m.now.Sub(got.Failing) < 50*time.Second || m.reads < 3 {
		t.Errorf("%+v after %d readings", got, m.reads)
	}
	m.fails, m.took = nil, time.Millisecond
	m.pass(afterError)
	if got := m.Get(context.Background(), "a", false, m.read); got.Err != nil || !got.Failing.IsZero() || got.Value == 1 {
		t.Errorf("%+v", got)
	}
}

// People who come at the same time share one reading; a person who has changed something gets one
// that begins later.
func TestTogether(t *testing.T) {
	t.Parallel()
	c := newCollector(byTime)
	var reads atomic.Int32
	begun, on := make(chan struct{}, 10), make(chan struct{})
	read := func(context.Context) (any, error) {
		reads.Add(1)
		begun <- struct{}{}
		<-on
		return reads.Load(), nil
	}
	var all sync.WaitGroup
	all.Go(func() { c.Get(context.Background(), "a", false, read) })
	<-begun
	for range 20 {
		all.Go(func() { c.Get(context.Background(), "a", false, read) })
	}
	all.Go(func() { c.Get(context.Background(), "a", true, read) })
	<-begun
	close(on)
	all.Wait()
	if n := reads.Load(); n != 2 {
		t.Errorf("%d readings", n)
	}
}

// What was read before someone changed something is not shown to who asks after that, and is read once for all of them.
func TestAct(t *testing.T) {
	t.Parallel()
	m := newMoved()
	m.took = time.Second
	for range 2 {
		m.Get(context.Background(), "a", false, m.read)
	}
	m.now = m.now.Add(time.Second)
	m.Act()
	for range 2 {
		if got := m.Get(context.Background(), "a", false, m.read); got.Value != 2 {
			t.Errorf("%+v is what was known before", got)
		}
	}

	old, on := make(chan struct{}), make(chan struct{})
	c := newCollector(byTime)
	var all sync.WaitGroup
	all.Go(func() {
		c.Get(context.Background(), "a", false, func(context.Context) (any, error) {
			close(old)
			<-on
			return "old", nil
		})
	})
	<-old
	c.Act()
	c.mu.Lock()
	c.subjects["a"].read = func(context.Context) (any, error) { return "new", nil }
	c.mu.Unlock()
	if got := c.Get(context.Background(), "a", false, nil); got.Value != "new" {
		t.Errorf("%+v had begun before", got)
	}
	close(on)
	all.Wait()
}

// However many begin a reading of one subject at the same time, each ends its own, and what began last counts.
func TestFreshTogether(t *testing.T) {
	t.Parallel()
	c := newCollector(byTime)
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			c.Get(context.Background(), "a", true, func(context.Context) (any, error) { return 0, nil })
		})
	}
	all.Wait()

	m := newMoved()
	old := m.now
	s := &subject{read: func(context.Context) (any, error) { // another one begins and ends within it
		later := &subject{got: Reading{Value: "new", began: old.Add(time.Second), tried: old.Add(2 * time.Second)}}
		m.subjects["a"].got = later.got
		return "old", nil
	}}
	m.subjects["a"] = s
	if got := m.Collector.read(context.Background(), s, s.begin(m.now)); got.Value != "new" {
		t.Errorf("%+v", got)
	}
}

// A stream hears of what changes while its page is read for the first time, and then of what it shows.
func TestNoNewsIsMissed(t *testing.T) {
	t.Parallel()
	m := newMoved()
	w, stop := m.Watch()
	defer stop()
	heard := func() bool {
		select {
		case <-w.Changed:
			return true
		default:
			return false
		}
	}
	if m.Notify("job 1"); !heard() {
		t.Error("what ended before its page was shown is missed")
	}
	m.Follow(w, map[string]bool{"job 1": true})
	if m.Notify("job 2"); heard() {
		t.Error("the page of one job hears of another one")
	}
	if m.Notify("job 1"); !heard() {
		t.Error("not heard")
	}
}

// However many things people ask for, no more than so many are remembered.
func TestSubjectsAreBounded(t *testing.T) {
	t.Parallel()
	m := newMoved()
	m.Keep("kept", time.Hour, m.read)
	_, stop := m.follows(map[string]bool{"watched": true})
	defer stop()
	m.Get(context.Background(), "watched", false, m.read)
	for n := range 2 * mostSubjects {
		m.Get(context.Background(), fmt.Sprint(n), false, m.read)
	}
	if n := len(m.subjects); n > mostSubjects {
		t.Errorf("%d are remembered", n)
	}
	for _, name := range []string{"kept", "watched", fmt.Sprint(2*mostSubjects - 1)} {
		if m.subjects[name] == nil {
			t.Errorf("%s is forgotten", name)
		}
	}
	if m.subjects["0"] != nil {
		t.Error("the oldest is remembered")
	}
}
