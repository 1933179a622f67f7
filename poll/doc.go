// Package poll lets a program take messages one batch at a time, and say later what became of them: for
// programs that cannot be listeners, such as a gateway that serves workers in other languages.
//
//	p, err := poll.New(poll.Config{Redis: rdb})
//	held, err := p.Take(ctx, []string{"orders"}, poll.Take{TTR: time.Minute, Wait: 20 * time.Second})
//	if held == nil { … } // nothing came
//	… held.Messages[0].Content …
//	counted, err := p.Finish(ctx, held.Receipt)
//
// A batch is the caller's for its time to run (TTR), which Extend begins anew. The receipt is all that Finish and Extend need:
// any process may call them, also one that was started since.
//
// # When the time to run is over
//
// Nothing in your process ends a take. Its time to run is the lease of the slot (Until): the next turn of anybody there,
// of a taker or a listener, takes the messages over (luascripts/turn/busy.lua lets it, finish.lua does it). They have
// spent an attempt, and come again a second later (in literal topics at once), or after the Backoff of the listener that
// found them; after the 17th they are dead. Until that turn Finish and Extend count, however late they are. delivery.go
// plans a turn for then, if somebody waits here; a listener finds the batch by its looks at busy slots.
//
// # What holds
//
// A take is a turn of a worker that works for one batch. So all promises hold: the messages of a slot are handled one batch at a
// time, whoever takes them; each has 17 deliveries; and none comes early. Listeners and takers may work at one topic,
// but a topic that its listeners share by ZooKeeper cannot be taken from: to them, who takes looks dead.
//
// Nothing is asked of Redis while everybody waits, but for a look now and then.
//
// # Where to read
//
// A take (take.go) waits in the queue of each topic that it names (queue.go). A turn is taken for one who waits (turns.go), and the
// batch that it brings is delivered (delivery.go). A finish is one more turn (finish.go). The rest is a topic: how it is opened, what
// goes on beside the turns (upkeep.go), which limits hold (outstanding.go, rate.go), and its end (close.go).
//
// The package does not retry a handler, and calls none:
// see package consumer.
package poll
