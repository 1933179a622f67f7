// Package poll lets a program take messages one batch at a time, and say later what became of them: for
// programs that cannot be listeners, such as a gateway that serves workers in other languages.
//
//	p, err := poll.New(poll.Config{Redis: rdb})
//	held, err := p.Take(ctx, []string{"orders"}, poll.Take{TTR: time.Minute, Wait: 20 * time.Second})
//	if held == nil { … } // nothing came
//	… held.Messages[0].Content …
//	counted, err := p.Finish(ctx, held.Receipt)
//
// A batch is the caller's for its time to run (TTR), which Extend begins anew. When that is over, another one is given
// the messages, and they have spent an attempt. The receipt is all that Finish and Extend need: any process may
// call them, also one that was started since.
//
// A take is a turn of a worker that works for one batch. So all promises hold: the messages of a slot are handled one batch at a
// time, whoever takes them; each has 17 deliveries; and none comes early. Listeners and takers may work at one topic,
// but a topic that its listeners share by ZooKeeper cannot be taken from: to them, who takes looks dead.
//
// Nothing is asked of Redis while everybody waits, but for a look now and then. It does not retry a handler, and calls none:
// see package consumer.
package poll
