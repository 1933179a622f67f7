package collector

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// Collector reads what pages show: each subject once for all who watch it, and so slowly that all readings together
// take at most a hundredth of each Redis server's time. If n subjects are wanted, each gets an n-th of that: it rests
// for n × 124 times the cost of its reading. So a costly subject does not keep the others waiting. What a person asks
// for, and what someone has just changed, is read at once, and rests for longer afterwards.
type Collector struct {
	mu       sync.Mutex
	subjects map[string]*subject // by name
	watches  map[*Watch]bool
	acted    time.Time     // when someone last changed something here: what was read before that is not shown any more
	changed  chan struct{} // has an element if there may be another subject to read
	meter    meter
	now      func() time.Time
	closing  context.Context // ends all readings
}

// The bounds of reading.
const (
	share        = 125              // readings take one part in so many of a server's time; with what measuring costs, about a hundredth
	pace         = 2 * time.Second  // a subject is not read more often
	afterError   = 5 * time.Second  // the rest behind an error: the shortest, and the longest if no server says what it cost
	readWithin   = 15 * time.Second // one reading
	shownFor     = time.Minute      // a page is taken to be loaded again
	mostSubjects = 1000             // that are remembered; with those that are watched there may be more
	forgetAfter  = 10 * time.Minute // a subject that no one asks for
)

// subject is something to read.
type subject struct {
	name  string
	read  func(context.Context) (any, error)
	got   Reading
	every time.Duration // it is read that often, also if no one wants it; 0: it is not
	owes  time.Duration // the cost of its readings that no rest had made up for when it was last read
	asked time.Time     // the last time someone wanted it
	shown time.Time     // the last time what was known would do
	busy  chan struct{} // closed when the reading that is under way is over; nil: none is
	begun time.Time     // when that has begun
}

// Reading is what was read of a subject.
type Reading struct {
	Value   any       // nil: it could never be read
	At      time.Time // of the value
	began   time.Time // the last try
	tried   time.Time // when that had ended; zero: it was never tried
	Err     error     // of the last try; a value may be there beside it
	Failing time.Time // since when; zero: the last try went well
}

// note notes what a try has brought.
func (r *Reading) note(value any, err error, began, now time.Time) {
	r.began, r.tried, r.Err = began, now, err
	switch {
	case err == nil:
		r.Failing = time.Time{}
	case r.Failing.IsZero():
		r.Failing = began
	}
	if value != nil {
		r.Value, r.At = value, now
	}
}

// Watch is a stream that wants to know when its subjects were read again.
type Watch struct {
	subjects map[string]bool // nil: not known yet, so it hears of all
	Changed  chan struct{}
}

// New returns a collector, whose readings end with closing.
func New(rdb redis.UniversalClient, closing context.Context) *Collector {
	c := newCollector(newProcessors(rdb).meter)
	c.closing = closing
	return c
}

func newCollector(m meter) *Collector {
	return &Collector{subjects: map[string]*subject{}, watches: map[*Watch]bool{}, changed: make(chan struct{}, 1), meter: m, now: time.Now, closing: context.Background()}
}

// Keep reads a subject now and then, also if no one watches it.
func (c *Collector) Keep(name string, every time.Duration, read func(context.Context) (any, error)) {
	c.mu.Lock()
	c.subjects[name] = &subject{name: name, read: read, every: every}
	c.mu.Unlock()
	c.wake()
}

// Run reads what streams watch and what is kept, until closing ends.
func (c *Collector) Run() {
	ctx := c.closing
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		s, busy, wait := c.next()
		if s != nil {
			c.read(ctx, s, busy)
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
			return
		case <-c.changed:
		case <-timer.C:
		}
	}
}

// next begins with the subject that is to be read now, or says how long to wait. It forgets those that no one wants.
func (c *Collector) next() (begun *subject, busy chan struct{}, wait time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	now, first, wanted := c.now(), time.Time{}, c.wanted()
	watched := c.watched()
	for name, s := range c.subjects {
		due := s.due(wanted)
		switch {
		case s.busy != nil:
			continue
		case !watched[name] && s.every == 0:
			if now.Sub(s.asked) > forgetAfter {
				delete(c.subjects, name)
			}
			continue
		case !watched[name] && s.got.Err == nil:
			due = later(due, s.got.tried.Add(s.every))
		}
		if begun == nil || due.Before(first) {
			begun, first = s, due
		}
	}
	if begun == nil {
		return nil, nil, forgetAfter
	}
	if wait = first.Sub(now); wait > 0 {
		return nil, nil, wait
	}
	return begun, begun.begin(now), 0
}

// wanted is how many subjects are read again and again: also those of pages that people load again and again.
func (c *Collector) wanted() (n int) {
	now, watched := c.now(), c.watched()
	for name, s := range c.subjects {
		if watched[name] || s.every > 0 || now.Sub(s.shown) < shownFor {
			n++
		}
	}
	return max(1, n)
}

// due is when a subject may be read again, if so many are wanted.
func (s *subject) due(wanted int) time.Time {
	if s.got.tried.IsZero() {
		return time.Time{}
	}
	rest := max(pace, s.owes*time.Duration(wanted*(share-1)))
	if s.got.Err != nil {
		rest = max(rest, afterError)
	}
	return s.got.tried.Add(rest)
}

// owe adds what a reading has cost, and takes off what its rest until now has made up for.
func (s *subject) owe(cost time.Duration, wanted int, now time.Time) {
	if !s.got.tried.IsZero() {
		s.owes = max(0, s.owes-now.Sub(s.got.tried)/time.Duration(wanted*(share-1)))
	}
	s.owes += cost
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// watched are the subjects that streams want to know of.
func (c *Collector) watched() map[string]bool {
	names := map[string]bool{}
	for w := range c.watches {
		maps.Copy(names, w.subjects)
	}
	return names
}

// Get is what is known of a subject. It reads the subject first if that was never read, is due, or was read before
// someone changed something; with fresh, in any case.
func (c *Collector) Get(ctx context.Context, name string, fresh bool, read func(context.Context) (any, error)) Reading {
	c.mu.Lock()
	s, now := c.subjects[name], c.now()
	if s == nil {
		c.makeRoom()
		s = &subject{name: name, read: read}
		c.subjects[name] = s
	}
	s.asked = now
	if !fresh {
		s.shown = now
	}
	switch {
	case !fresh && !s.got.tried.IsZero() && !s.got.began.Before(c.acted) && now.Before(s.due(c.wanted())):
		defer c.mu.Unlock()
		return s.got
	case s.busy != nil && !fresh && !s.begun.Before(c.acted):
		busy := s.busy
		c.mu.Unlock()
		select {
		case <-busy:
		case <-ctx.Done():
			return Reading{Err: ctx.Err()}
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		return s.got
	}
	busy := s.begin(now)
	c.mu.Unlock()
	alone, cancel := context.WithCancel(context.WithoutCancel(ctx)) // others may wait for it
	defer cancel()
	defer context.AfterFunc(c.closing, cancel)()
	return c.read(alone, s, busy)
}

// makeRoom forgets one subject if there are too many: the one that was asked for longest ago. The collector is
// locked.
func (c *Collector) makeRoom() {
	if len(c.subjects) < mostSubjects {
		return
	}
	watched := c.watched()
	var oldest *subject
	for name, s := range c.subjects {
		if s.every == 0 && s.busy == nil && !watched[name] && (oldest == nil || s.asked.Before(oldest.asked)) {
			oldest = s
		}
	}
	if oldest != nil {
		delete(c.subjects, oldest.name)
	}
}

// Glance is what is known of a subject that is kept, without waiting for a reading.
func (c *Collector) Glance(name string) Reading {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.subjects[name].got
}

// begin makes others wait for a reading. The collector is locked.
func (s *subject) begin(now time.Time) chan struct{} {
	s.busy, s.begun = make(chan struct{}), now
	return s.busy
}

// read reads a subject, ends what begin began, and lets those who watch know. If a reading that began later has ended
// already, that one counts.
func (c *Collector) read(ctx context.Context, s *subject, busy chan struct{}) Reading {
	counted, slept := wait.Counted(ctx)
	within, cancel := context.WithTimeout(counted, readWithin)
	end := c.meter(within)
	began := c.now()
	value, err := s.read(within)
	cost, known := end(max(0, c.now().Sub(began)-slept()))
	cancel()

	c.mu.Lock()
	defer c.mu.Unlock()
	now, wanted := c.now(), c.wanted()
	if err != nil && !known {
		cost = min(cost, afterError/time.Duration(wanted*(share-1)))
	}
	s.owe(cost, wanted, now)
	if !began.Before(s.got.began) {
		s.got.note(value, err, began, now)
	}
	if s.busy == busy {
		s.busy = nil
	}
	close(busy)
	c.notifyLocked(s.name)
	return s.got
}

// Watch makes a stream hear of what changes, until stop is called.
func (c *Collector) Watch() (w *Watch, stop func()) {
	w = &Watch{Changed: make(chan struct{}, 1)}
	c.mu.Lock()
	c.watches[w] = true
	c.mu.Unlock()
	return w, func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.watches, w)
	}
}

// Follow limits a stream to some subjects, which are read again and again for it.
func (c *Collector) Follow(w *Watch, names map[string]bool) {
	c.mu.Lock()
	same := w.subjects != nil && maps.Equal(w.subjects, names)
	w.subjects = names
	c.mu.Unlock()
	if !same {
		c.wake()
	}
}

// Act notes that someone has changed something.
func (c *Collector) Act() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.acted = c.now()
}

// Notify lets those who watch a subject know that it has changed.
func (c *Collector) Notify(name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notifyLocked(name)
}

func (c *Collector) notifyLocked(name string) {
	for w := range c.watches {
		if w.subjects == nil || w.subjects[name] {
			w.notify()
		}
	}
}

func (w *Watch) notify() {
	select {
	case w.Changed <- struct{}{}:
	default:
	}
}

func (c *Collector) wake() {
	select {
	case c.changed <- struct{}{}:
	default:
	}
}
