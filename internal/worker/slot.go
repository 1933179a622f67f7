package worker

import (
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/worker/schedule"
	"github.com/slotmq/go-rmq/message"
)

// Slot is one slot of a topic, as whoever works at it sees it. Only one goroutine at a time has it in hand: a writer, or
// the one that handles its batch; else the schedule has it. So its fields need no lock.
type Slot struct {
	schedule.Slot
	Facts    schedule.Facts     // handed to the schedule with the slot, and back
	Turn     protocol.Turn      // the last one asked; its keys are not changed
	Sent     time.Time          // when it was last sent
	Verdicts []protocol.Verdict // which the next turn reports
}

// Init makes the slot that of a topic, known to the schedule as the face's own.
func (x *Slot) Init(t message.Topic, qualified string, index int, own any) {
	x.Value = own
	x.Turn.Keys, x.Turn.Priority, x.Turn.Merge = protocol.KeysOf(qualified, index), !t.Kind.Timed(), t.Kind.FirstWins()
}

// own is a face's slot, which has a Slot in it.
type own interface{ base() *Slot }

func (x *Slot) base() *Slot { return x }

// Scheduled is the slot as the schedule knows it.
func (x *Slot) Scheduled() *schedule.Slot { return &x.Slot }

func slotOf(x *schedule.Slot) *Slot { return x.Value.(own).base() }

// Keys and Timed are for the lookout.
func (x *Slot) Keys() *protocol.SlotKeys { return &x.Turn.Keys }

// Timed reports whether the slot's messages are in the order of times.
func (x *Slot) Timed() bool { return !x.Turn.Priority }

// settle takes a definite answer into account.
func (x *Slot) settle(a *Answer) {
	f := &x.Facts
	f.Open, f.Failures, f.Held, f.Taken = false, 0, false, 0
	f.Unavailable = a.Code == protocol.Busy || a.Code == protocol.Paused
	f.More = a.Code == protocol.Empty && a.Wait == 0
	if a.Code != protocol.Busy {
		f.Fence, f.Holder = a.Fence, ""
	}
	clear(x.Verdicts)
	x.Turn.Verdicts, x.Verdicts = nil, x.Verdicts[:0]
}
