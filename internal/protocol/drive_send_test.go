package protocol_test

import (
	"fmt"
	"maps"
	"slices"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// The sends of a run of the driver, and what workers are told of them.

// send brings one message to Redis.
func (d *driver) send(x string) {
	m, last, fields := &message{content: x, score: d.now + 1000}, d.kind != rangeMerge, protocol.SendFields(0)
	switch {
	case d.kind == priorityKind:
		m.score = []int64{17, 17, 40, 99, 1<<53 - 1}[d.IntN(5)]
	case d.kind == fixedTime:
		m.score = d.now + []int64{1, 300, 2500}[d.IntN(3)]
	case d.IntN(3) == 0:
		fields, m.score, m.ceiling = protocol.SendCeiling, []int64{300, 2000}[d.IntN(2)], []int64{2500, 6000}[d.IntN(2)]
	}
	if d.IntN(5) == 0 {
		fields |= protocol.SendUnique
		m.unique = []int64{0, 200, 3000, 20_000}[d.IntN(4)] // without, it is none
	}
	if d.notes {
		fields |= protocol.SendNote
		m.ttl = []int64{0, 500, 3000, 3000}[d.IntN(4)]
		if d.IntN(2) == 0 {
			m.headers = map[string]string{"step": fmt.Sprint(d.steps)}
		}
	}
	var cmd redis.Cmder
	switch {
	case fields != 0:
		cmd = redis.NewIntSliceCmd(ctx, append(d.s.SendArgs(d.k.Store, fields, last, 0), m.args(fields)...)...)
	case last:
		cmd = redis.NewCmd(ctx, "zadd", d.k.Store, m.score, x)
	case d.literal:
		cmd = redis.NewCmd(ctx, append(d.s.AddArgs(d.k.Store, last, 0), m.score, x)...)
	default:
		cmd = redis.NewCmd(ctx, "zadd", d.k.Store, "nx", m.score, x)
	}
	e := &effect{what: fmt.Sprintf("send %+v", *m), before: d.state, after: d.step(cmd)}
	d.note("%s", e.what)
	need(cmd.Err() == nil, "ERROR: a send is answered", "%v", cmd.Err())
	expected := e.before.clone()
	outcome, score := expected.send(m, fields, last, d.now)
	expected.same(e.after)
	if told, ok := cmd.(*redis.IntSliceCmd); ok {
		need(slices.Equal(told.Val(), []int64{int64(outcome), score}), "TOLD", "%v, not %d and %d", told.Val(), outcome, score)
	}
	a := d.ledger[x]
	if again := m.unique > 0 && a.unique > d.now; again || outcome == protocol.SendDuplicate {
		need(again == (outcome == protocol.SendDuplicate), "UNIQUE: a duplicate is what is unique, and was sent as such within that time",
			"%s at %d, until %d: %d", x, d.now, a.unique, outcome)
		d.duplicate(e, x)
		return
	}
	if m.unique > 0 {
		a.unique = d.now + m.unique
		d.count["unique"]++
	}
	d.count.sent(d, e, m, score)
	d.ledger.send(x, score)
	if d.notes {
		d.ledger[x].noted = noted(d.ledger[x].noted, m, e.before.store[x] > retries, d.now)
	}
	d.check(e)
}

// duplicate counts a send that has changed nothing.
func (d *driver) duplicate(e *effect, x string) {
	_, flying := e.before.prepare[x]
	_, failed := e.before.retry[x]
	switch waits := e.before.store[x]; {
	case waits > retries:
		d.count["duplicate of what waits"]++
	case flying:
		d.count["duplicate of what is in flight"]++
	case failed || waits > 0:
		d.count["duplicate of what failed"]++
	default:
		d.count["duplicate of what is over"]++
	}
	d.check(e)
}

// sent counts a send.
func (c coverage) sent(d *driver, e *effect, m *message, score int64) {
	waited := e.before.store[m.content]
	if _, flying := e.before.prepare[m.content]; flying {
		c["sent while in flight"]++
	}
	switch merged := waited > retries; {
	case d.kind == rangeMerge && merged && m.ceiling == 0:
		c["send merged"]++
	case m.ceiling > 0 && !merged:
		c["extended: stored"]++
	case m.ceiling > 0 && waited <= d.now:
		c["extended: overdue"]++
	case m.ceiling > 0 && score == d.now+m.score:
		c["extended: moved"]++
	case m.ceiling > 0:
		c["extended: to its ceiling"]++
	}
	if len(e.after.seen) < len(e.before.seen) {
		c["unique: ended one trimmed"]++
	}
	if len(e.after.firsts) < len(e.before.firsts) {
		c["extended: leftover trimmed"]++
	}
	old, noted := protocol.ParseNote(e.before.notes[m.content])
	switch {
	case !d.notes || !noted:
	case waited <= retries:
		c["noted: a new wait"]++
	default:
		c["noted: goes on"]++
		if m.ttl > 0 && old.Expires > d.now+m.ttl {
			c["noted: the later end holds"]++
		}
		if (m.ttl == 0) != (old.Expires == 0) {
			c["noted: one send has no end"]++
		}
		if len(m.headers) == 0 && old.Headers != nil {
			c["noted: headers of an earlier send"]++
		}
	}
}

// noted is what the sends come to that merged into one copy, counted apart from any note. It is nil
// if a newer copy was cancelled, or sent by a plan, or if a person made it of a dead one: then nothing
// may be told.
func noted(old *protocol.Note, m *message, waits bool, now int64) *protocol.Note {
	n := protocol.Note{Sends: 1, First: now, Last: now, Headers: m.headers}
	if m.ttl > 0 {
		n.Expires = now + m.ttl
	}
	if !waits || old == nil {
		return &n
	}
	n.Sends, n.First = old.Sends+1, old.First
	if old.Expires == 0 || n.Expires > 0 && old.Expires > n.Expires {
		n.Expires = old.Expires
	}
	if len(n.Headers) == 0 {
		n.Headers = old.Headers
	}
	return &n
}

// taken keeps what the sends of a batch come to, when it is taken.
func (d *driver) taken(e *effect) {
	of := map[string]*protocol.Note{}
	for _, x := range e.out.taken {
		of[x.content] = d.ledger[x.content].noted
	}
	d.notedAt[e.answer.Fence] = of
}

// tellNote reads the note of a message as its worker does, and checks that it is of the copy in that
// batch: never of another one, and told unless it was sent again since.
func (d *driver) tellNote(fence int64, x string) {
	want := d.notedAt[fence][x]
	got, there := protocol.ParseNote(d.state.notes[x])
	if !there || !got.Tells(fence) {
		again := d.ledger[x].sends != d.sendsAt[fence][x]
		need(again || want == nil, "UNTOLD: what a message's sends come to is told", "%s in batch %d: %q", x, fence, d.state.notes[x])
		if there {
			d.count["not told the note of a later copy"]++
		}
		return
	}
	need(want != nil, "NOTED: a note is about the copy in the batch", "%s in batch %d is told %+v, of another copy", x, fence, got)
	need(got.Sends == want.Sends && got.First == want.First && got.Last == want.Last && got.Expires == want.Expires && maps.Equal(got.Headers, want.Headers),
		"NOTED: a note is about the copy in the batch", "%s in batch %d is told %+v, and its sends come to %+v", x, fence, got, *want)
	d.count["told its note"]++
}

// forget has the notes removed of what is over, of some contents, at any time.
func (d *driver) forget() {
	var some []string
	expected := d.state.clone()
	for _, x := range d.contents {
		if d.IntN(2) == 0 {
			continue
		}
		some = append(some, x)
		if _, lives := whereIs(expected, x); !lives && expected.notes[x] != "" {
			delete(expected.notes, x)
			d.count["note forgotten"]++
		}
	}
	if len(some) == 0 {
		return
	}
	cmd := d.s.ForgetCmd(ctx, d.k, some)
	d.s.Exec(ctx, cmd)
	removed, _, err := protocol.ForgetAnswer(cmd)
	before := len(d.state.notes)
	d.expects(expected, err, "forget the notes of what is over of %q: %d", some, removed)
	need(removed == before-len(expected.notes), "FORGET", "%d, not %d", removed, before-len(expected.notes))
}
