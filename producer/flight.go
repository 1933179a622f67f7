package producer

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/slotmq/go-rmq/internal/checked"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/message"
)

// Flights are recycled, so a topic remembers a serial. Each topic keeps a table from slot to lane for the flight it was
// last added to. A recycled flight has the address of the old one, so the address proves nothing; the serial belongs to
// this use.

// An empty content means withdrawn. Empty contents are refused, so the column needs no second flag.

// Pointers as arguments. &f.scores[e] is written to Redis as the number it points to. The number itself, in an any,
// would be an allocation for each message.

// Limits of one flight: enough to fill a write, but so little that a huge batch does
// not keep all others waiting.
const (
	flightMessages = 4096
	flightBytes    = 8 << 20
)

// flight is a group of messages that are written together, in columns: one
// entry per message. Callers add to the open flight under shared.mu; from
// the moment the flusher takes it, only the flusher touches it, until done is
// closed. Then callers only read.
type flight struct {
	contents []string // "" for one that was withdrawn
	scores   []int64  // priority, or due ms; below 0: due so many ms after the time that the flusher will add
	more     []more   // of each entry, up to the last that has any
	next     []int32  // 1 + the next entry of the same lane; 0: it is the last
	outcomes []Outcome
	errs     []error // nil unless some entry failed
	lanes    []lane
	bytes    int

	by        *writer       // whose flight it is
	serial    uint64        // of this use of the columns
	taken     bool          // by the flusher; guarded by shared.mu
	journaled bool          // the journal has it, which bounds its own time; likewise
	done      chan struct{} // closed when outcomes and errs are final
	refs      atomic.Int32  // callers that will still read, and the flusher
	alarm     chan struct{} // see patience.wait
	ringer    *time.Timer   // closes it

	args    []any   // of all commands of the flight, one after the other
	entries []int32 // of all commands, likewise
	writes  []write // its commands
	pending []*write
}

// more is what a message has besides content and score: only send.lua knows it.
type more struct {
	wait, ceiling int64  // ms; 0: later sends do not move it
	unique        int64  // ms; 0: it is not
	note          string // see protocol.NoteArg
}

// lane is the part of a flight that goes to one slot: a chain of entries in
// the order they were sent.
type lane struct {
	topic       *topic
	slot        int
	first, last int32 // entries
	fromNow     bool  // some are due so long after the time at which they are written
	merged      int   // entries that met an equal one that waited
	announced   bool  // its wake-up was written behind it

	fields protocol.SendFields // that some messages have; then the answer tells the outcome of each
}

func (l *lane) store() string { return l.topic.slots[l.slot].store }

var flights = sync.Pool{New: func() any { return new(flight) }}

var serials atomic.Uint64

func newFlight() *flight {
	f := flights.Get().(*flight)
	f.serial = serials.Add(1)
	f.done = make(chan struct{})
	f.refs.Store(1) // the flusher's
	return f
}

// release gives up one reading; the last one recycles the columns.
func (f *flight) release() {
	if f.refs.Add(-1) > 0 {
		return
	}
	if f.ringer != nil {
		f.ringer.Stop()
	}
	clear(f.contents)
	clear(f.more)
	clear(f.lanes)
	clear(f.args)
	clear(f.writes)
	f.contents, f.scores, f.more, f.next, f.outcomes = f.contents[:0], f.scores[:0], f.more[:0], f.next[:0], f.outcomes[:0]
	f.lanes, f.args, f.entries, f.writes, f.pending = f.lanes[:0], f.args[:0], f.entries[:0], f.writes[:0], f.pending[:0]
	f.by, f.errs, f.alarm, f.ringer, f.bytes, f.taken, f.journaled = nil, nil, nil, nil, 0, false, false
	flights.Put(f)
}

func (f *flight) full() bool { return len(f.contents) >= flightMessages || f.bytes >= flightBytes }

// add appends a message and returns its entry. The caller holds shared.mu.
func (f *flight) add(t *topic, slot int, b *checked.Message) int {
	entry := int32(len(f.contents))
	f.contents = append(f.contents, b.Content)
	score := b.Value
	if b.FromNow {
		score = -score
	}
	f.scores = append(f.scores, score)
	f.next = append(f.next, 0)
	f.outcomes = append(f.outcomes, Accepted)
	f.bytes += len(b.Content)
	if x := &t.slots[slot]; x.flight == f.serial {
		l := &f.lanes[x.lane]
		f.next[l.last] = entry + 1
		l.last = entry
		l.fromNow = l.fromNow || b.FromNow
	} else {
		x.flight, x.lane = f.serial, int32(len(f.lanes))
		f.lanes = append(f.lanes, lane{topic: t, slot: slot, first: entry, last: entry, fromNow: b.FromNow, fields: t.fields})
	}
	if b.Ceiling > 0 || b.Unique > 0 || b.Note != "" {
		f.growMore(int(entry) + 1)
		f.more[entry] = more{wait: b.Value, ceiling: b.Ceiling, unique: b.Unique, note: b.Note}
		f.bytes += len(b.Note)
	}
	f.lanes[t.slots[slot].lane].fields |= fieldsOf(b)
	return int(entry)
}

// growMore makes more as long as the first n entries: empty for those that have none.
func (f *flight) growMore(n int) { f.more = append(f.more, make([]more, n-len(f.more))...) }

// extends reports whether an entry moves what it merges into.
func (f *flight) extends(entry int32) bool {
	return int(entry) < len(f.more) && f.more[entry].ceiling > 0
}

// appendFields appends the arguments of an entry for send.lua. They are pointers, as for a ZADD, which
// cost no allocation.
func (f *flight) appendFields(args []any, fields protocol.SendFields, entry int32) []any {
	score, ceiling, unique, note := any(&f.scores[entry]), any(""), any(""), any("")
	if int(entry) < len(f.more) {
		m := &f.more[entry]
		if note = &m.note; m.ceiling > 0 {
			score, ceiling = &m.wait, &m.ceiling
		}
		if m.unique > 0 {
			unique = &m.unique
		}
	}
	args = append(args, score, &f.contents[entry])
	if fields&protocol.SendCeiling != 0 {
		args = append(args, ceiling)
	}
	if fields&protocol.SendUnique != 0 {
		args = append(args, unique)
	}
	if fields&protocol.SendNote != 0 {
		args = append(args, note)
	}
	return args
}

// knows reports whether the score of an entry that is done is the score in Redis. A message that
// merged may have kept the first score, and a duplicate may not wait at all.
func (f *flight) knows(kind message.Kind, entry int32) bool {
	switch f.outcomes[entry] {
	case Stored:
		return true
	case Duplicate:
		return false
	}
	return f.scores[entry] > 0 && (!kind.FirstWins() || f.extends(entry))
}

// each calls do for the entries of a lane that were not withdrawn.
func (f *flight) each(l *lane, do func(entry int32)) {
	for e := l.first + 1; e > 0; e = f.next[e-1] {
		if f.contents[e-1] != "" {
			do(e - 1)
		}
	}
}

// fail gives the entries of a lane an error.
func (f *flight) fail(l *lane, err error) {
	f.each(l, func(e int32) { f.failOne(e, err) })
}

func (f *flight) failOne(entry int32, err error) {
	if f.errs == nil {
		f.errs = make([]error, len(f.contents))
	}
	f.errs[entry] = err
}

// result of one entry of a flight that is done.
func (f *flight) result(entry int) (Outcome, error) {
	if f.errs != nil {
		return f.outcomes[entry], f.errs[entry]
	}
	return f.outcomes[entry], nil
}
