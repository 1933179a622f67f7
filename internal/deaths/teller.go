package deaths

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/errands"
	"github.com/slotmq/go-rmq/internal/schedule"
	"github.com/slotmq/go-rmq/internal/shift"
	"github.com/slotmq/go-rmq/luascripts"
)

const (
	// atOnce is how many deaths of a topic are told at the same time.
	atOnce = 16

	// perAnswer is how many deaths of a slot are read at once.
	perAnswer = 32

	// slice is for how long a slot has a place, where each takes long, while others wait.
	slice = time.Second
)

// A slot whose deaths could not be told is tried again after a time that doubles between
// these.
const firstAgain, lastAgain = time.Second, time.Minute

// longestWait is for how long a goroutine waits for deaths of the present ms, which are told
// when it is over. It is short unless the server's clock was set back; then the safety look
// finds them.
const longestWait = time.Second

// Topic is one whose deaths are told.
type Topic struct {
	Name      string // with its namespace
	Scheduled *schedule.Topic
	Look      time.Duration // how often its slots are looked at, without being asked to
	Timeout   time.Duration // of Tell
	Hung      time.Duration // how long a Tell that ignores its context keeps others waiting

	// Tell tells one death. It is called by several goroutines, one for each slot.
	Tell func(ctx context.Context, slot int, d *luascripts.Death) error

	places chan struct{} // one for each slot whose deaths are being told
}

// Config of a teller.
type Config struct {
	Shift    *shift.Shift
	Redis    redis.UniversalClient
	Scripts  *luascripts.Scripts
	Schedule *schedule.Schedule
	Log      *zap.Logger
	TimedOut error // the cause of a context that ends because Tell takes too long

	// About are the fields of a line about what failed: to tell a death, or, with nil, to read
	// which there are.
	About func(d *luascripts.Death, err error) []zap.Field
}

// Teller tells the deaths of some topics.
type Teller struct {
	Config
	plan  *errands.Timetable[*Topic]
	lines *errands.Lines[place] // slots to be looked at

	mu      sync.Mutex
	of      map[*schedule.Topic]*Topic
	telling map[place]*telling
	active  int        // of those that do not wait for a time
	settled *sync.Cond // active is 0
}

// place is a slot of a topic.
type place struct {
	topic *Topic
	slot  int
}

func (p place) keys() luascripts.SlotKeys { return luascripts.KeysOf(p.topic.Name, p.slot) }

// telling is a slot whose deaths are being told, by a goroutine of its own.
type telling struct {
	again bool          // it was to be looked at meanwhile
	waits bool          // for a time, and need not
	woken chan struct{} // it need not wait any longer

	// Of the goroutine.
	list     []luascripts.Death // read, and not told
	told     string             // the score up to which all were told, not noted yet; empty: it is noted
	failures int                // in a row
	looks    int                // for deaths of the present ms
	placed   bool               // it has one of the topic's places
	since    time.Time          // when it got that
}

// New returns a teller for some topics, at least one.
func New(c Config, topics []*Topic) *Teller {
	t := &Teller{Config: c, of: map[*schedule.Topic]*Topic{}, telling: map[place]*telling{}}
	t.settled = sync.NewCond(&t.mu)
	shortest := topics[0].Look
	for _, topic := range topics {
		shortest = min(shortest, topic.Look)
		t.of[topic.Scheduled] = topic
		topic.places = make(chan struct{}, atOnce)
	}
	gap := errands.Gap(shortest) // a timetable may be so late
	t.plan = errands.NewTimetable(topics, gap, func(topic *Topic) time.Duration { return topic.Look - gap })
	t.lines = errands.NewLines(lookAtOnce, &c.Shift.Running, t.look)
	return t
}

// Look has a slot looked at, because something may have died there. It returns at once. It
// does nothing for a topic whose deaths are not told.
func (t *Teller) Look(of *schedule.Topic, slot int) {
	if topic := t.of[of]; topic != nil {
		t.begin(place{topic, slot})
	}
}

// begin tells the deaths of a slot, unless that is going on already.
func (t *Teller) begin(p place) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.Shift.Background.Err() != nil {
		return // the worker that has the slot next looks there
	}
	if s := t.telling[p]; s != nil {
		s.again = true
		if s.waits {
			s.waits = false
			t.active++
			s.woken <- struct{}{}
		}
		return
	}
	s := &telling{woken: make(chan struct{}, 1)}
	t.telling[p] = s
	t.active++
	t.Shift.Running.Go(func() { t.run(p, s) })
}

// run tells the deaths of a slot until there is none left.
func (t *Teller) run(p place, s *telling) {
	ended := false
	defer func() {
		if !ended { // Tell has ended its goroutine
			again := t.failed(p, s, &s.list[0], errors.New("its goroutine was ended"))
			t.Shift.Running.Go(func() {
				t.wait(s, again)
				t.run(p, s)
			})
		}
	}()
	for {
		wait := t.next(p, s)
		if wait == 0 && t.end(p, s) {
			break
		}
		if wait > 0 {
			t.wait(s, wait)
		}
		if t.Shift.Background.Err() != nil && t.end(p, s) {
			break
		}
	}
	ended = true
}

// end ends the telling of a slot, and reports whether it is over: not if the slot was to be
// looked at meanwhile, and the worker goes on.
func (t *Teller) end(p place, s *telling) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.again && t.Shift.Background.Err() == nil {
		s.again = false
		return false
	}
	delete(t.telling, p)
	t.rest()
	return true
}

// rest notes that one is not active any more. The caller holds the lock.
func (t *Teller) rest() {
	if t.active--; t.active == 0 {
		t.settled.Broadcast()
	}
}

// wait waits for some time, until the slot is to be looked at, or until the worker closes. A
// back-off is not cut short: each death would do that.
func (t *Teller) wait(s *telling, d time.Duration) {
	t.mu.Lock()
	s.waits = s.failures == 0
	t.rest()
	t.mu.Unlock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-s.woken:
		return
	case <-timer.C:
	case <-t.Shift.Background.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if s.failures == 0 && !s.waits { // it was woken in the same moment
		<-s.woken
		return
	}
	s.waits = false
	t.active++
}

// next tells deaths until there is none left, and returns how long to wait until there may
// be more; 0 if none is known.
func (t *Teller) next(p place, s *telling) (wait time.Duration) {
	defer t.leave(p, s)
	for t.enter(p, s) {
		if len(s.list) == 0 {
			found, err := t.Scripts.Deaths(t.Shift.Requests, p.keys(), s.told, perAnswer)
			if err != nil {
				return t.failed(p, s, nil, err)
			}
			if s.told, s.list = "", found.List; len(s.list) == 0 {
				s.failures = 0
				return s.later(found.More)
			}
		}
		d := &s.list[0]
		if err := t.tell(p, s, d); err != nil {
			return t.failed(p, s, d, err)
		}
		s.failures, s.looks = 0, 0
		if len(s.list) == 1 || s.list[1].Score != d.Score {
			s.told = d.Score // else what was told of the ms would be all of it
		}
		if s.list = s.list[1:]; len(s.list) == 0 || time.Since(s.since) > slice {
			t.leave(p, s) // others may wait for it
		}
	}
	t.note(p, s)
	return 0
}

// enter waits for a place, unless the slot has one. It returns false when the worker closes.
func (t *Teller) enter(p place, s *telling) bool {
	if !s.placed {
		select {
		case p.topic.places <- struct{}{}:
			s.placed, s.since = true, time.Now()
		case <-t.Shift.Background.Done():
		}
	}
	return t.Shift.Background.Err() == nil
}

// leave gives up the place, if the slot has one. Who waits for the longest gets it.
func (t *Teller) leave(p place, s *telling) {
	if s.placed {
		s.placed = false
		<-p.topic.places
	}
}

// later is how long to wait for deaths of the present ms, longer each time.
func (s *telling) later(more time.Duration) time.Duration {
	if more == 0 || more > longestWait {
		s.looks = 0
		return 0
	}
	s.looks++
	return min(max(more, time.Millisecond<<min(s.looks, 10)), longestWait)
}

// failed notes that a death could not be told, or, with nil, that they could not be read. It
// returns how long to wait.
func (t *Teller) failed(p place, s *telling, d *luascripts.Death, err error) time.Duration {
	s.failures++
	if t.Shift.Background.Err() == nil {
		fields := []zap.Field{zap.String("topic", p.topic.Scheduled.Name), zap.Int("slot", p.slot), zap.Int("times", s.failures), zap.Duration("in", s.backoff())}
		t.Log.Warn("a death could not be told, and will be told again", append(fields, t.About(d, err)...)...)
	}
	t.note(p, s)
	return s.backoff()
}

func (s *telling) backoff() time.Duration {
	return min(lastAgain, firstAgain<<min(s.failures-1, 10))
}

// note notes what was told: another worker may have the slot next. If it cannot be noted,
// that is done with the next question, or those deaths are told again.
func (t *Teller) note(p place, s *telling) {
	if s.told == "" {
		return
	}
	if _, err := t.Scripts.Deaths(t.Shift.Requests, p.keys(), s.told, 0); err == nil {
		s.told = ""
	}
}

// tell tells one death. A panic is an error. If it does not return although its context has
// ended, the place is given up: the slot waits on, and no other does.
func (t *Teller) tell(p place, s *telling, d *luascripts.Death) (err error) {
	ctx, cancel := context.WithTimeoutCause(t.Shift.Handlers, p.topic.Timeout, t.TimedOut)
	defer cancel()
	hangs := time.AfterFunc(p.topic.Hung, func() {
		t.Log.Error("a listener to the dead ignores its context: no death in this slot is told until it returns",
			append([]zap.Field{zap.String("topic", p.topic.Scheduled.Name), zap.Int("slot", p.slot)}, t.About(d, t.TimedOut)...)...)
		<-p.topic.places
	})
	defer func() { s.placed = hangs.Stop() }()
	defer func() {
		if caught := recover(); caught != nil {
			err = fmt.Errorf("panic: %v", caught)
		}
	}()
	return p.topic.Tell(ctx, p.slot, d)
}

// Telling returns the names of the topics of which something is being told.
func (t *Teller) Telling() (topics []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for p := range t.telling {
		topics = append(topics, p.topic.Scheduled.Name)
	}
	return topics
}
