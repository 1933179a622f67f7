package deaths

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/upkeep/periodic"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
)

const (
	// atOnce is how many deaths of a topic are reported at the same time, and allAtOnce how
	// many of all topics.
	atOnce, allAtOnce = 16, 256

	// requestsAtOnce is how many requests about deaths are under way. Turns need connections,
	// too.
	requestsAtOnce = 16

	// perAnswer is how many deaths of a slot are read at once.
	perAnswer = 32

	// slice is for how long a slot has a place, where each takes long, while others wait.
	slice = time.Second
)

// After a failure, a slot is tried again after a time that doubles between these.
const firstAgain, lastAgain = time.Second, time.Minute

// longestWait is for how long a goroutine waits for deaths of the present ms, which are
// reported when it is over. That is soon, unless the server's clock was set back; then the
// safety look finds them.
const longestWait = time.Second

// Topic is one whose deaths are reported.
type Topic struct {
	Name      string // with its namespace
	Scheduled *schedule.Topic
	Look      time.Duration // how often its slots are looked at, without being asked to
	Timeout   time.Duration // of Report
	Hung      time.Duration // how long a Report that ignores its context keeps others waiting

	// Report is called for each death, by several goroutines: one for each slot.
	Report func(ctx context.Context, slot int, d *protocol.Death) error

	places places // one for each slot whose deaths are being reported
}

// Config of a [Reporter].
type Config struct {
	periodic.Needs
	TimedOut error // the cause of a context that ends because Report takes too long

	// About are the fields of a log line about a death that could not be reported, or, with
	// nil, about deaths that could not be read.
	About func(d *protocol.Death, err error) []zap.Field
}

// Reporter reports the deaths of some topics.
type Reporter struct {
	Config
	plan  *periodic.Timetable[*Topic]
	lines *periodic.Lines[place] // slots to be looked at

	places   places // as those of each topic, for all together
	requests places

	mu        sync.Mutex
	of        map[*schedule.Topic]*Topic
	reporting map[place]*progress
	active    int        // of those that do not wait for a time
	settled   *sync.Cond // active is 0
}

// places are how many may do something at the same time.
type places chan struct{}

// enter waits for a place. It returns false if it has none when the worker closes.
func (p places) enter(closing context.Context) bool {
	select {
	case p <- struct{}{}:
		return true
	case <-closing.Done():
		return false
	}
}

// leave gives a place up. Who waited longest gets it.
func (p places) leave() { <-p }

// place is a slot of a topic.
type place struct {
	topic *Topic
	slot  int
}

func (p place) keys() protocol.SlotKeys { return protocol.KeysOf(p.topic.Name, p.slot) }

// progress is that of a slot whose deaths are being reported, by a goroutine of its own.
type progress struct {
	again bool          // the slot was to be looked at meanwhile
	waits bool          // for a time, and need not
	woken chan struct{} // it need not wait any longer

	// Of the goroutine.
	list     []protocol.Death // read, and not reported
	reported string           // UpTo of the last one that was reported, not noted yet; empty: it is noted
	failures int              // in a row
	looks    int              // for deaths of the present ms
	placed   bool             // it has one of the topic's places
	since    time.Time        // when it got that
}

// New returns a reporter for some topics, at least one.
func New(c Config, topics []*Topic) *Reporter {
	r := &Reporter{Config: c, of: map[*schedule.Topic]*Topic{}, reporting: map[place]*progress{}}
	r.places, r.requests = make(places, allAtOnce), make(places, requestsAtOnce)
	r.settled = sync.NewCond(&r.mu)
	for _, topic := range topics {
		r.of[topic.Scheduled] = topic
		topic.places = make(places, atOnce)
	}
	r.plan = periodic.NewRegular(topics, func(topic *Topic) time.Duration { return topic.Look })
	r.lines = periodic.NewLines(lookAtOnce, c.Life.Go, r.look)
	return r
}

// Look has a slot looked at, because something may have died there. It returns at once. It
// does nothing for a topic whose deaths are not reported.
func (r *Reporter) Look(of *schedule.Topic, slot int) {
	if topic := r.of[of]; topic != nil {
		r.begin(place{topic, slot})
	}
}

// begin starts to report the deaths of a slot, unless that is going on already.
func (r *Reporter) begin(p place) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.Life.Background.Err() != nil {
		return // the worker that has the slot next looks there
	}
	if s := r.reporting[p]; s != nil {
		s.again = true
		if s.waits {
			s.waits = false
			r.active++
			s.woken <- struct{}{}
		}
		return
	}
	s := &progress{woken: make(chan struct{}, 1)}
	r.reporting[p] = s
	r.active++
	r.Life.Go(func() { r.run(p, s) })
}

// run reports the deaths of a slot until there is none left.
func (r *Reporter) run(p place, s *progress) {
	ended := false
	defer func() {
		if !ended { // Report has ended its goroutine
			var d *protocol.Death
			if len(s.list) > 0 { // else a hook of the Redis client has
				d = &s.list[0]
			}
			again := r.failed(p, s, d, errors.New("its goroutine was ended"))
			r.Life.Go(func() {
				r.wait(s, again)
				r.run(p, s)
			})
		}
	}()
	for {
		wait := r.next(p, s)
		if wait == 0 && r.end(p, s) {
			break
		}
		if wait > 0 {
			r.wait(s, wait)
		}
		if r.Life.Background.Err() != nil && r.end(p, s) {
			break
		}
	}
	ended = true
}

// end ends the work at a slot, and returns whether it is over: not if the slot was to be
// looked at meanwhile, and the worker goes on.
func (r *Reporter) end(p place, s *progress) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.again && r.Life.Background.Err() == nil {
		s.again = false
		return false
	}
	delete(r.reporting, p)
	r.rest()
	return true
}

// rest notes that one is not active any more. The caller holds the lock.
func (r *Reporter) rest() {
	if r.active--; r.active == 0 {
		r.settled.Broadcast()
	}
}

// wait waits for some time, until the slot is to be looked at, or until the worker closes. A
// back-off is not cut short: each death would do that.
func (r *Reporter) wait(s *progress, d time.Duration) {
	r.mu.Lock()
	s.waits = s.failures == 0
	r.rest()
	r.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.woken:
		return
	case <-timer.C:
	case <-r.Life.Background.Done():
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if s.failures == 0 && !s.waits { // it was woken in the same moment
		<-s.woken
		return
	}
	s.waits = false
	r.active++
}

// next reports deaths until there is none left, and returns how long to wait until there may
// be more; 0 if none is known.
func (r *Reporter) next(p place, s *progress) (wait time.Duration) {
	defer r.leave(p, s)
	for r.enter(p, s) {
		if len(s.list) == 0 {
			found, err := r.request(p, s.reported, perAnswer)
			if err != nil {
				return r.failed(p, s, nil, err)
			}
			if s.reported, s.list = "", found.List; len(s.list) == 0 {
				s.failures = 0
				return s.later(found.More)
			}
		}
		d := &s.list[0]
		if err := r.report(p, s, d); err != nil {
			return r.failed(p, s, d, err)
		}
		s.failures, s.looks = 0, 0
		if len(s.list) == 1 || s.list[1].UpTo != d.UpTo {
			s.reported = d.UpTo // else: the rest of that ms is not reported yet
		}
		if s.list = s.list[1:]; len(s.list) == 0 || time.Since(s.since) > slice {
			r.leave(p, s) // others may wait for it
		}
	}
	r.note(p, s)
	return 0
}

// request notes what was reported, and reads the next deaths.
func (r *Reporter) request(p place, reported string, count int) (protocol.Deaths, error) {
	r.requests <- struct{}{}
	defer r.requests.leave()
	return r.Scripts.Deaths(r.Life.Requests, p.keys(), reported, count)
}

// enter waits for a place, unless the slot has one: among those of its topic, then among all.
// It returns false when the worker closes.
func (r *Reporter) enter(p place, s *progress) bool {
	if !s.placed && p.topic.places.enter(r.Life.Background) {
		if s.placed = r.places.enter(r.Life.Background); s.placed {
			s.since = time.Now()
		} else {
			p.topic.places.leave()
		}
	}
	return r.Life.Background.Err() == nil
}

// leave gives up the place, if the slot has one.
func (r *Reporter) leave(p place, s *progress) {
	if s.placed {
		s.placed = false
		r.release(p)
	}
}

func (r *Reporter) release(p place) {
	r.places.leave()
	p.topic.places.leave()
}

// later is how long to wait for deaths of the present ms, longer each time.
func (s *progress) later(more time.Duration) time.Duration {
	if more == 0 || more > longestWait {
		s.looks = 0
		return 0
	}
	s.looks++
	return min(max(more, time.Millisecond<<min(s.looks, 10)), longestWait)
}

// failed notes that a death could not be reported, or, with nil, that deaths could not be
// read. It returns how long to wait.
func (r *Reporter) failed(p place, s *progress, d *protocol.Death, err error) time.Duration {
	s.failures++
	if r.Life.Background.Err() == nil {
		fields := []zap.Field{zap.String("topic", p.topic.Scheduled.Name), zap.Int("slot", p.slot), zap.Int("times", s.failures), zap.Duration("in", s.backoff())}
		r.Log.Warn("a death could not be reported, and will be reported again", append(fields, r.About(d, err)...)...)
	}
	r.note(p, s)
	return s.backoff()
}

func (s *progress) backoff() time.Duration {
	return min(lastAgain, firstAgain<<min(s.failures-1, 10))
}

// note notes what was reported: another worker may have the slot next. If it cannot be noted,
// that is done with the next request, or those deaths are reported again.
func (r *Reporter) note(p place, s *progress) {
	if s.reported == "" {
		return
	}
	if _, err := r.request(p, s.reported, 0); err == nil {
		s.reported = ""
	}
}

// report calls Report for one death. A panic is an error. If it does not return although its
// context has ended, the place is given up: the slot waits on, and no other does.
func (r *Reporter) report(p place, s *progress, d *protocol.Death) (err error) {
	ctx, cancel := context.WithTimeoutCause(r.Life.Handlers, p.topic.Timeout, r.TimedOut)
	defer cancel()
	hangs := time.AfterFunc(p.topic.Hung, func() {
		r.Log.Error("a listener to the dead ignores its context: no death in this slot is reported until it returns",
			append([]zap.Field{zap.String("topic", p.topic.Scheduled.Name), zap.Int("slot", p.slot)}, r.About(d, r.TimedOut)...)...)
		r.release(p)
	})
	defer func() { s.placed = hangs.Stop() }()
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("panic: %v", caught)
		}
	}()
	return p.topic.Report(ctx, p.slot, d)
}

// Reporting returns the names of the topics of which a death is being reported.
func (r *Reporter) Reporting() (topics []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for p := range r.reporting {
		topics = append(topics, p.topic.Scheduled.Name)
	}
	return topics
}
