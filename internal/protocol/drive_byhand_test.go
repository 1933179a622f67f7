package protocol_test

import (
	"fmt"
	"reflect"
	"slices"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
)

// What people do in a run of the driver.

// byHand lets a person do something.
func (d *driver) byHand() {
	x := d.contents[d.IntN(len(d.contents))]
	switch d.IntN(6) {
	case 0:
		d.takeOut(d.IntN(3) == 0)
	case 1, 2:
		d.reschedule(x)
	case 3:
		d.look(x)
	case 4:
		d.restore()
	case 5:
		d.purge()
	}
}

// expects makes what a person did the present state, after comparing it with what
// the second telling expects.
func (d *driver) expects(expected *slot, err error, format string, args ...any) {
	e := &effect{what: fmt.Sprintf(format, args...), before: d.state, after: d.slot()}
	d.note("%s", e.what)
	need(err == nil, "ERROR: a person is answered", "%v", err)
	expected.same(e.after)
	d.check(e)
}

func (d *driver) pause(on bool) {
	d.at(d.now)
	expected := d.state.clone()
	wantChanged, wantBefore := expected.pause(on, d.now)
	changed, before, err := d.s.Pause(ctx, d.k, on)
	d.expects(expected, err, "paused: %v", on)
	need(changed == wantChanged && before.Equal(wantBefore), "PAUSE", "changed %v, was since %v, not %v, %v", changed, before, wantChanged, wantBefore)
	if changed {
		d.count[map[bool]string{true: "paused", false: "resumed"}[on]]++
	}
}

// takeOut requeues or deletes some contents, as a person has seen them.
func (d *driver) takeOut(remove bool) {
	d.at(d.now)
	var dead []byhand.DeadItem
	for _, x := range d.contents {
		died, buried := d.state.dead[x]
		switch {
		case !buried && d.IntN(4) > 0 || d.IntN(4) == 0:
			continue
		case d.IntN(8) == 0:
			died-- // it has died again
		}
		dead = append(dead, byhand.DeadItem{Content: x, Died: time.UnixMilli(died)})
	}
	give := []int64{0, 0, 0, 17, 1<<53 - 1}[d.IntN(5)]
	before, expected := d.state, d.state.clone()
	want := expected.takeOut(remove, d.kind == priorityKind, give, dead, d.now)
	var got []byhand.DeadResult
	var err error
	if remove {
		got, err = d.s.Delete(ctx, d.k, dead)
	} else {
		got, err = d.s.Requeue(ctx, d.k, d.kind == priorityKind, give, dead)
	}
	for i, word := range want {
		if x := dead[i].Content; word == byhand.Stored { // like a send
			d.ledger.send(x, expected.store[x])
			d.ledger[x].noted = nil
		} else if before.livesFailed(x) && (word == byhand.Merged || word == byhand.Deleted) {
			d.count["a dead one gone beside a failed one"]++
		}
		if word == byhand.Merged {
			d.endless(dead[i].Content)
		}
		d.count[string(word)]++
	}
	d.expects(expected, err, "%v requeued, or deleted: %v, with priority %d: %v", dead, remove, give, got)
	need(slices.Equal(got, want), "FORTUNE", "of %v: %v, not %v", dead, got, want)
}

// endless lifts the end of what lives of a message, also where it is in flight.
func (d *driver) endless(x string) {
	notes := []*protocol.Note{d.ledger[x].noted}
	for _, of := range d.notedAt {
		notes = append(notes, of[x])
	}
	for _, n := range notes {
		if n != nil && n.Expires > 0 {
			n.Expires = 0
			d.count["MERGED: its end is lifted"]++
		}
	}
}

func (d *driver) reschedule(x string) {
	d.at(d.now)
	var to byhand.Move
	switch in := []time.Duration{0, time.Millisecond, 300 * time.Millisecond, 2500 * time.Millisecond}[d.IntN(4)]; {
	case d.kind == priorityKind && d.IntN(2) == 0:
		to.Priority = []int64{17, 40, 1<<53 - 1}[d.IntN(3)]
	case d.IntN(2) == 0:
		to.In = in
	default:
		to.At = time.UnixMilli(d.now).Add(in)
	}
	to.RetryOnly = d.kind == priorityKind && to.Priority == 0
	expected := d.state.clone()
	where, before, after := expected.reschedule(x, to, d.now)
	gotWhere, gotBefore, gotAfter, err := d.s.Reschedule(ctx, d.k, x, to)
	switch where {
	case byhand.InStore:
		d.ledger[x].promised, d.ledger[x].later = after, 0
	case byhand.InRetry:
		d.ledger[x].later = after / 100
	}
	d.expects(expected, err, "reschedule %s to %+v: %s from %d to %d", x, to, gotWhere, gotBefore, gotAfter)
	need(gotWhere == where && gotBefore == before && gotAfter == after, "MOVE", "of %s: %s from %d to %d, not %s from %d to %d", x, gotWhere, gotBefore, gotAfter, where, before, after)
	d.count["reschedule "+string(where)]++
}

// look compares what a person is told with the state.
func (d *driver) look(x string) {
	d.at(d.now)
	priorities := d.kind == priorityKind
	count, err1 := d.s.Count(ctx, d.k, priorities)
	find, err2 := d.s.Find(ctx, d.k, priorities, x)
	need(err1 == nil && err2 == nil, "ERROR: a person is told", "%v, %v", err1, err2)
	want := d.state.found(x, priorities, d.now)
	need(count == d.state.counted(priorities, d.now), "COUNT", "%+v, not %+v", count, d.state.counted(priorities, d.now))
	need(reflect.DeepEqual(find, want), "FIND", "%s: %+v, not %+v", x, find, want)
	d.audited(d.state, auditedParts[d.IntN(len(auditedParts))])
	d.count["looked"]++
}
