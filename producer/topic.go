package producer

import (
	"errors"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/rights"
	"github.com/slotmq/go-rmq/internal/servers/silence"
	"github.com/slotmq/go-rmq/message"
)

// The definition is compared beside the sends. A Send uses what is known; when 30 s are over it starts a goroutine that
// compares again, so the check costs no send a round trip, and no send waits if the server that holds the definition
// hangs. A definition that was agreed on stays good while Redis cannot be asked; a conflict is looked up each time.

// recheck is how often the definitions of the topics are compared again.
const recheck = 30 * time.Second

// topic is what a producer keeps about a topic it sends to.
type topic struct {
	message.Topic               // with the number of slots, once it has agreed
	sent          message.Topic // as callers name it
	name          string        // qualified by the namespace

	maxLate atomic.Int64 // of its listeners, in ns; 0: none is known

	agreed atomic.Int64 // when to compare the definition again, since epoch; 0: it does not agree, or it is not known yet

	mu        sync.Mutex
	comparing *check                         // of the definition; nil: none is under way
	asking    map[protocol.SendFields]*check // of rights, under way

	widely atomic.Int64 // until when wake-ups go to all masters because a slot has moved, since epoch

	may atomic.Uint32 // the SendFields that its messages may have

	slots []slot // made when the definition agrees for the first time

	fields protocol.SendFields // that each of its messages has
}

// slot is what a producer keeps about one slot of a topic.
type slot struct {
	store  string // its key
	key    any    // the same, so that a command need not allocate for it
	writer atomic.Pointer[writer]

	numbered atomic.Bool // it had a number when it was last asked

	// Guarded by shared.mu.
	flight uint64 // serial of the one that the slot was last added to
	lane   int32  // index of its lane there
}

// lowestAt returns the lowest slot that the topic has on the master of a writer, if it is one of a Cluster.
func (t *topic) lowestAt(to *writer) (slot int, found bool) {
	for slot := 0; slot < len(t.slots) && to.addr != ""; slot++ {
		if _, addr, err := cluster.MasterFor(to.run, to.rdb, t.slots[slot].store); err == nil && addr == to.addr {
			return slot, true
		}
	}
	return 0, false
}

// epoch makes monotonic moments fit an atomic integer.
var epoch = time.Now()

// topics are those that were sent to.
type topics struct {
	*shared
	known atomic.Pointer[map[message.Topic]*topic] // replaced, never changed
	first atomic.Pointer[topic]                    // that was sent to
}

func newTopics(all *shared) *topics {
	s := &topics{shared: all}
	s.known.Store(&map[message.Topic]*topic{})
	return s
}

// of returns what is kept about t, once its definition agrees with the stored one.
// Every 30 s it is compared again in the background.
func (s *topics) of(w *patience, t message.Topic) (*topic, error) {
	known := s.first.Load() // often the only one, and quicker than a look into the map
	if known == nil || known.sent != t {
		known = (*s.known.Load())[t]
	}
	if known != nil && known.agreed.Load() > 0 {
		if known.due() {
			s.checkDefinition(known) // the next Send reports a conflict
		}
		return known, nil
	}
	if err := t.Validate(); err != nil {
		return nil, err
	}
	s.mu.Lock()
	known = (*s.known.Load())[t]
	if known == nil {
		known = &topic{Topic: t, sent: t, name: protocol.Qualify(s.cfg.Namespace, t.Name)}
		if t.Notes {
			known.fields = protocol.SendNote
		}
		grown := maps.Clone(*s.known.Load())
		grown[t] = known
		s.known.Store(&grown)
		s.first.CompareAndSwap(nil, known)
	}
	s.mu.Unlock()
	return known, s.checkDefinition(known).wait(w)
}

// check is a question to Redis about a topic, under way, for all callers that wait: whether its
// definition agrees with the stored one, or whether rights are there. It is nil after the producer
// was closed.
type check struct {
	done chan struct{} // closed when err is final
	err  error
}

// wait returns when the check is done, or when its caller waits no longer.
func (c *check) wait(w *patience) error {
	if c == nil {
		return message.ErrClosed
	}
	if err := w.wait(c.done, rung); err != nil {
		return err
	}
	return c.err
}

// checkDefinition starts one comparison of the definition for all callers that wait. It runs in
// the background, because the Redis client does not end when their contexts do.
func (s *topics) checkDefinition(t *topic) *check {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.comparing != nil {
		return t.comparing
	}
	c := &check{done: make(chan struct{})}
	if t.agreed.Load() > 0 && !t.due() { // another call was first
		close(c.done)
		return c
	}
	begun := s.goBackground(func() {
		c.err = s.compare(t)
		t.mu.Lock()
		defer t.mu.Unlock()
		t.comparing = nil
		close(c.done)
	})
	if !begun {
		return nil
	}
	t.comparing = c
	return c
}

func (s *topics) compare(t *topic) (err error) {
	if t.agreed.Load() == 0 {
		err = rights.Check(s.run, s.rdb, rights.Need{Durable: s.cfg.Durability.Replicas > 0, Journal: s.cfg.Journal != nil}, t.rights())
	}
	var full definition.Listened
	if err == nil {
		full, err = definition.AgreeLate(s.run, s.scripts, t.name, t.Topic, definition.Sharing{})
	}
	s.away.Doubt(protocol.DefinitionKey(t.name), err)
	now := time.Since(epoch)
	switch {
	case err == nil:
		if t.slots == nil {
			t.Topic = full.Topic
			t.makeSlots()
		}
		t.maxLate.Store(int64(full.MaxLate))
		t.agreed.Store(int64(now + recheck))
	case errors.Is(err, message.ErrTopicConflict):
		t.agreed.Store(0)
	case t.agreed.Load() > 0:
		// It agreed before, and definitions do not change. The write that follows
		// reports what is wrong with Redis.
		t.agreed.Store(int64(now + time.Second))
		t.maxLate.Store(0) // it is not known now
		return nil
	}
	return silence.Explain(s.rdb, err)
}

// tooLate refuses a message that the topic's listener would find too late, as far as that is known by now. A send does
// not wait long to find that out: the definition may be on another server than the message.
func (s *topics) tooLate(w *patience, t *topic, m *checked.Message, now time.Time) error {
	asked := s.checkDefinition(t)
	if asked == nil {
		return message.ErrClosed
	}
	soon := time.NewTimer(time.Second)
	defer soon.Stop()
	select {
	case <-asked.done:
	case <-soon.C:
		return nil
	case <-w.ctx.Done():
		return w.ctx.Err()
	}
	if most := time.Duration(t.maxLate.Load()); most > 0 && m.Past(now.Add(-most-time.Millisecond)) {
		return past(m, now, most)
	}
	return asked.err
}

func (t *topic) makeSlots() {
	t.slots = make([]slot, t.Slots)
	for i := range t.slots {
		store := protocol.StoreKey(t.name, i)
		t.slots[i].store, t.slots[i].key = store, store
	}
}

// due reports whether it is time to compare the definition.
func (t *topic) due() bool { return int64(time.Since(epoch)) >= t.agreed.Load() }
