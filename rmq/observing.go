package rmq

import (
	"context"

	"github.com/slotmq/go-rmq/consumer"
	"github.com/slotmq/go-rmq/message"
)

// Observer sees what happens to messages, for metrics, a log, or an alert: see
// Config.Observers. It is called by several goroutines at a time and must not block.
//
//	type Observer interface {
//		Observe(e *Event)
//	}
type Observer = message.Observer

// Journal keeps outside of Redis what was sent and what became of it: see Config.Journal.
//
//	type Journal interface {
//		Ready() error
//		Sent(all []*message.Sends, then func(error))
//		Observer
//	}
type Journal = message.Journal

// ObserverFunc makes a function an Observer.
//
//	type ObserverFunc func(e *Event)
type ObserverFunc = message.ObserverFunc

// Event is what has happened to messages of one slot. It comes after the answer of Redis.
// The event and its items are valid until Observe returns; strings may be kept.
//
//	type Event struct {
//		Topic  Topic         // with the namespace in front of its name
//		Slot   int
//		Fence  int64         // of the batch; 0 for what was sent
//		Worker string        // its id; empty for what was sent
//		At     time.Time     // when the answer came
//		Took   time.Duration // how long the answer took
//		Merged int           // how many of the messages sent met an equal one that waited: exact
//		Items  []Item
//	}
type Event = message.Event

// Item is one message of an Event.
//
//	type Item struct {
//		What    What
//		Content string        // empty for Moved and Probing
//		Score   int64         // priority, or when it is due in ms; 0 if it is not known
//		Attempt int           // from 1; 0 for what was sent
//		Took    time.Duration // how long the handler had it
//		In      time.Duration // after how long it comes again
//		Reason  string        // why it failed, died, was snoozed, dropped, refused or overtaken
//		Err     error         // behind the reason, if there is one
//	}
type Item = message.Item

// What is what has happened to a message.
type What = message.What

// What happens to messages that are sent. One that Send refuses before it is written, for
// example because it is invalid, is no event.
const (
	EventSent      = message.Sent      // stored, or merged
	EventMerged    = message.Merged    // merged for certain: see Config.ExactReceipts
	EventRefused   = message.Refused   // the send has failed: Item.Err says how
	EventDuplicate = message.Duplicate // nothing is stored: an equal Unique one was sent within its time
)

// What happens to messages that are handled. If the content was sent again meanwhile, the events
// are the same, but of a message that fails, dies, is snoozed or handed back nothing is left:
// the new copy goes on.
const (
	EventTaken      = message.Taken      // comes first, of each message of a batch
	EventDone       = message.Done       // handled
	EventFailed     = message.Failed     // comes again
	EventDied       = message.Died       // is among the dead; ListenDead knows those whose worker died, too
	EventSnoozed    = message.Snoozed    // comes again; the delivery does not count
	EventDropped    = message.Dropped    // gone without being handled to its end
	EventHandedBack = message.HandedBack // not begun, pushed back, or ended by Close; the delivery does not count
	EventOvertaken  = message.Overtaken  // what this worker made of it may not count
	EventMoved      = message.Moved      // no message: the slot has come to the worker, or left it
	EventProbing    = message.Probing    // no message: only one is tried now and then, since all fail; or that has ended
)

// OutcomeOf returns what becomes of a message whose listener has returned err: EventDone,
// EventFailed, EventDied, EventSnoozed after Later, EventDropped if it was cancelled, or
// EventHandedBack after Pushback or if the worker is closing. It is for a Middleware. An Observer learns later
// whether Redis has done it.
func OutcomeOf(ctx context.Context, d *Delivery, err error) What {
	return consumer.OutcomeOf(ctx, d, err)
}
