package consumer

import (
	"context"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

func TestBatchSize(t *testing.T) {
	t.Parallel()
	var b batchSize
	if b.count(1) != firstBatch {
		t.Errorf("the first batch has %d", b.count(1))
	}
	for _, c := range []struct {
		each  time.Duration
		bytes int
		want  int
	}{
		{0, 100, luascripts.MaxBatch},
		{10 * time.Microsecond, 100, luascripts.MaxBatch},
		{time.Millisecond, 100, 10},
		{4 * time.Millisecond, 100, 2},
		{10 * time.Millisecond, 100, 1},
		{time.Hour, 100, 1},
		{0, 256 << 10, 4},
		{0, 64 << 20, 1},
		{time.Millisecond, 512 << 10, 2},
	} {
		b := batchSize{}
		for range 5 {
			b.learn(16*c.each, 16, 16*c.bytes)
		}
		if got := b.count(1); got != c.want {
			t.Errorf("%v and %d bytes each: %d, want %d", c.each, c.bytes, got, c.want)
		}
	}
	// It follows a change, within some batches and not at once.
	for range 5 {
		b.learn(16*time.Millisecond, 16, 1600)
	}
	b.learn(time.Second, 1, 100)
	if b.count(1) != 1 {
		t.Errorf("after one slow message: %d", b.count(1))
	}
	for range 60 {
		b.learn(time.Millisecond, b.count(1), 100)
	}
	if b.count(1) < 50 {
		t.Errorf("after many fast batches: %d", b.count(1))
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	var p pace
	for _, c := range []struct {
		perSec      float64
		small, busy time.Duration
	}{{0, 0, 0}, {quietTurns - 1, 0, 0}, {quietTurns, smallGap, busyGap}, {50_000, smallGap, busyGap}} {
		p.perSec = c.perSec
		small, busy, full := p.gap(busyBatch-1, false), p.gap(busyBatch, false), p.gap(busyBatch, true)
		if small != c.small || busy != c.busy || full != 0 {
			t.Errorf("%v turns a second: gap %v after a small batch, %v after a larger and %v after a full one", c.perSec, small, busy, full)
		}
	}
	// A window later the rate is measured anew.
	p.perSec, p.began, p.turns = 50_000, time.Now().Add(-time.Second), 99
	p.rest(1, 0, 0)
	if p.perSec > 100 || p.turns != 0 {
		t.Errorf("%v turns a second, %d in this window", p.perSec, p.turns)
	}
	// Busy, a write waits for its share, less what its messages and its answer
	// have cost already.
	p.perSec, p.began = 50_000, time.Now().Add(time.Hour)
	begin := time.Now()
	p.rest(8, 0, 0)
	if waited := time.Since(begin); waited < 8*turnShare {
		t.Errorf("waited %v", waited)
	}
}

// Turns that come back full are not counted: more messages wait there, and to ask
// less often would gain nothing.
func TestPaceCountsTurnsWithRoomLeft(t *testing.T) {
	t.Parallel()
	rdb, topic := shared(t), topicOf(t, message.KindPriority, 1)
	contents := numbered("m", 20_000)
	newSender(t, rdb, topic).send(t, contents...)
	n := newNotes()
	var mu sync.Mutex
	batches := map[int64]bool{}
	c := newConsumer(t, rdb, Config{})
	c.pace.began = time.Now().Add(time.Hour) // so that one window holds all
	must(t, c.Listen(topic, n.around(func(_ context.Context, d *Delivery) error {
		mu.Lock()
		defer mu.Unlock()
		batches[d.Fence] = true
		return nil
	}), ListenOptions{}))
	must(t, c.Start(ctx))
	n.awaitAll(t, contents)
	must(t, c.Settle(ctx))
	mu.Lock()
	defer mu.Unlock()
	c.pace.mu.Lock()
	defer c.pace.mu.Unlock()
	if counted := c.pace.turns; counted == 0 || counted > len(batches)/2 {
		t.Errorf("%d turns were counted, with %d batches, nearly all of them full", counted, len(batches))
	}
}

// stage is a schedule with the turners played by the test.
func stage(limit int, slots ...int) (*schedule, []*topic) {
	var topics []*topic
	for _, n := range slots {
		t := newTopic(message.Topic{Name: "t", Kind: message.KindPriority, Slots: n}, "", nil, ListenOptions{Concurrency: limit})
		t.makeSlots()
		topics = append(topics, t)
	}
	s := newSchedule(limit, topics, func(*slot) {})
	me := &term{id: "me", log: zap.NewNop()}
	s.begin(me)
	for _, t := range topics {
		all := make([]int, t.Slots)
		for i := range all {
			all[i] = i
		}
		s.own(t, me, all)
		for i := range all {
			s.wake(t, i, 0)
		}
	}
	return s, topics
}

// take plays a turner that is answered with a batch each time.
func (s *schedule) takeAll() (taken []*slot) {
	for s.queues.length > 0 {
		xs, leaves := s.next(8, nil, nil)
		for i, x := range xs {
			if leaves[i] {
				panic("left")
			}
			x.held = true
			if !s.work(x) {
				panic("no place")
			}
			taken = append(taken, x)
		}
	}
	return taken
}

func TestPlacesAreShared(t *testing.T) {
	t.Parallel()
	s, topics := stage(8, 16, 16)
	taken := s.takeAll()
	slow, fast := topics[0], topics[1]
	// The first topic came first; half of the other's share is kept for it.
	if len(taken) != 8 || slow.used != 6 || fast.used != 2 || s.used != 8 {
		t.Errorf("%d taken: %d and %d", len(taken), slow.used, fast.used)
	}
	// A place given back goes to the topic that uses fewest.
	for _, x := range taken {
		if x.topic == slow && fast.used < 4 {
			x.held = false
			s.rest(x, time.Time{})
			s.takeAll()
		}
	}
	if slow.used != 4 || fast.used != 4 {
		t.Errorf("later: %d and %d", slow.used, fast.used)
	}
}

// A slot whose topic uses more than its share gives its place to another's,
// and one that had it for long to any that waits.
func TestSlotsYield(t *testing.T) {
	t.Parallel()
	s, topics := stage(8, 16, 16)
	taken := s.takeAll()
	for _, x := range taken {
		s.again(x, time.Time{})
	}
	slots, leave := s.next(100, nil, nil)
	for i, x := range slots {
		if want := x.topic == topics[0]; leave[i] != want { // 6 of 4, and 2 of 4
			t.Errorf("%v slot %d leaves: %v", x.topic == topics[0], x.index, leave[i])
		}
	}

	s, topics = stage(1, 2)
	x := s.takeAll()[0]
	s.again(x, time.Time{})
	if _, leave := s.next(1, nil, nil); leave[0] {
		t.Error("it yields at once")
	}
	s.again(x, time.Time{})
	x.since = x.since.Add(-time.Second)
	if _, leave := s.next(1, nil, nil); !leave[0] {
		t.Error("it never yields")
	}
	x.held = false
	s.leave(x)
	next := s.takeAll()
	if len(next) != 1 || next[0] == x || topics[0].waiting.first != x || topics[0].waiting.length != 1 {
		t.Error("the other has no place, or this one does not wait")
	}
}

func TestBorrowedPlaces(t *testing.T) {
	t.Parallel()
	s, topics := stage(8, 1)
	s.takeAll()
	if got := s.borrow(topics[0].slots[0], 100); got != 7 || s.used != 8 {
		t.Errorf("borrowed %d", got)
	}
	if got := s.borrow(topics[0].slots[0], 100); got != 7 || s.used != 8 {
		t.Errorf("borrowed %d", got)
	}
	for range 8 {
		s.repay(topics[0].slots[0]) // the last one has nothing to give back
	}
	if got := s.borrow(topics[0].slots[0], -1); got != 0 || s.used != 1 {
		t.Errorf("borrowed %d of -1; %d used", got, s.used)
	}
	s.borrow(topics[0].slots[0], 5)
	s.rest(topics[0].slots[0], time.Time{})
	if s.used != 0 || topics[0].slots[0].borrowed != 0 {
		t.Errorf("asleep with %d places", s.used)
	}
}

// A slot that is assigned anew is queued once, whoever has it in hand.
func TestOwnedAgainInAnyState(t *testing.T) {
	t.Parallel()
	s, topics := stage(2, 1)
	x := topics[0].slots[0]
	x.number = 7
	again := func() {
		s.own(topics[0], topics[0].term, nil)
		s.own(topics[0], topics[0].term, []int{0})
	}
	again() // in the queue
	if s.queues.length != 1 || s.used != 1 {
		t.Errorf("queued %d times, %d places", s.queues.length, s.used)
	}
	_, leave := s.next(1, nil, nil)
	again() // in the hands of a turner
	if s.queues.length != 0 || leave[0] {
		t.Error("queued while it turns")
	}
	s.work(x)
	again() // in the hands of a handler
	if s.queues.length != 0 {
		t.Error("queued while it is handled")
	}
	s.pause(x, time.Now().Add(time.Hour))
	again()
	if s.queues.length != 0 || s.used != 1 {
		t.Error("queued while its turn has no answer")
	}
	s.rest(x, time.Time{})
	again() // asleep: it is to be left first, or to be turned at
	if s.queues.length != 1 {
		t.Errorf("asleep: queued %d times", s.queues.length)
	}
	// It was queued to be left, without a place, and is assigned anew: it must
	// not take anything without one.
	if _, leave := s.next(1, nil, nil); !leave[0] || x.place {
		t.Errorf("leaves %v, place %v", leave[0], x.place)
	}
	s.leave(x)
	if _, leave := s.next(1, nil, nil); leave[0] || !x.place || s.active != 1 {
		t.Errorf("leaves %v, place %v, %d active", leave[0], x.place, s.active)
	}
}

// Sleepers wake in the order of their times, earlier ones first, and forget
// older times.
func TestSleepers(t *testing.T) {
	t.Parallel()
	s, topics := stage(16, 8)
	for _, x := range s.takeAll() {
		x.held = false
		s.rest(x, time.Now().Add(time.Duration(10-x.index)*time.Hour))
	}
	if s.sleepers[0].index != 7 || s.used != 0 || s.active != 0 {
		t.Errorf("slot %d is first; %d places used", s.sleepers[0].index, s.used)
	}
	s.wake(topics[0], 3, time.Minute)
	s.wake(topics[0], 7, 20*time.Hour) // later than it will anyway
	if s.sleepers[0].index != 3 || topics[0].slots[7].at.After(time.Now().Add(4*time.Hour)) {
		t.Error("a wake-up was not heeded, or made it later")
	}
	s.wake(topics[0], 5, 0)
	s.wake(topics[0], 5, 0)
	s.wake(topics[0], -1, 0)
	s.wake(topics[0], 8, 0)
	if s.queues.length != 1 || len(s.sleepers) != 7 {
		t.Errorf("%d queued, %d asleep", s.queues.length, len(s.sleepers))
	}
	// One that is turning when it is woken turns again.
	s.next(1, nil, nil)
	s.wake(topics[0], 5, 0)
	s.rest(topics[0].slots[5], time.Time{})
	if s.queues.length != 1 {
		t.Error("a wake-up during a turn was lost")
	}
	s.stop()
	if len(s.sleepers) != 0 {
		t.Errorf("%d sleep after the end", len(s.sleepers))
	}
}

// A turn may be executed before a message comes, and be answered after the look
// that was to find the message. So a slot that is turning turns again.
func TestLookDuringATurn(t *testing.T) {
	t.Parallel()
	s, topics := stage(16, 2)
	slots, _ := s.next(8, nil, nil)
	if idle := s.idle(topics[0].slots); len(idle) != 0 {
		t.Errorf("%d sleep", len(idle))
	}
	for _, x := range slots {
		s.rest(x, time.Time{})
	}
	if s.queues.length != 2 {
		t.Errorf("%d turn again", s.queues.length)
	}
}
