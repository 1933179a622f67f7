package consumer

import (
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// topic is what a consumer keeps about a topic it listens to.
type topic struct {
	message.Topic        // with the number of slots, once it has started
	name          string // qualified by the namespace
	opts          ListenOptions
	listener      MessageListener
	refused       atomic.Bool // its definition is another one now
	part          float64     // of a period after which it is first looked after: above 0, up to 1
	slots         []*slot
	size          batchSize
	crash         crash
	born          time.Time   // when the worker started
	newcomer      atomic.Bool // it found others in the list of members
	listed        atomic.Bool // it has entered that list
	kept          bool        // it has told why it stays out after its trial
	compared      time.Time   // its definition with the stored one, last

	// Guarded by schedule.mu.
	term     *term   // of the worker; nil between two of them
	used     int     // places taken
	reserve  int     // places that no other topic may take
	given    uint64  // the last place it was given, of those of the schedule
	waiting  queue   // ready, or with a batch, but for a place
	inHeap   int     // index in the heap of hungry topics; -1: not in it
	replaced []*slot // earlier incarnations, until they have finished what they carry
}

func newTopic(t message.Topic, namespace string, l MessageListener, o ListenOptions) *topic {
	return &topic{Topic: t, name: luascripts.Qualify(namespace, t.Name), opts: o, listener: l}
}

func (t *topic) makeSlots() {
	t.born, t.compared, t.kept = time.Now(), time.Now(), false
	t.newcomer.Store(false)
	t.listed.Store(false)
	t.term, t.used, t.given, t.waiting, t.inHeap = nil, 0, 0, queue{}, -1
	t.slots = make([]*slot, t.Slots)
	for i := range t.slots {
		t.slots[i] = t.newSlot(i, 0)
	}
}

// newSlot makes a slot, or another incarnation of one.
func (t *topic) newSlot(index, incarnation int) *slot {
	x := &slot{topic: t, index: index, incarnation: incarnation, inHeap: -1}
	if t.term != nil {
		x.serve(t.term)
	}
	x.turn.Keys, x.turn.Due = luascripts.KeysOf(t.name, index), t.opts.Due
	x.turn.Priority, x.turn.Merge = !t.Kind.Timed(), t.Kind.FirstWins()
	return x
}

// serve lets the slot take its turns under the id of a term. Of a term without a
// session each incarnation has an id of its own, for the lease of the one before is
// not over yet.
func (s *slot) serve(t *term) {
	s.term, s.worker = t, t.id
	if t.member == nil && s.incarnation > 0 {
		s.worker = fmt.Sprintf("%s+%d", t.id, s.incarnation)
	}
}

// memberOf is the id in the list of members of whoever holds a slot.
func memberOf(holder string) string {
	if id, n, found := strings.Cut(holder, "+"); found {
		if _, err := strconv.Atoi(n); err == nil {
			return id
		}
	}
	return holder
}
