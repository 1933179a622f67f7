// Package consumer delivers messages to listeners.
//
//	c, err := consumer.New(rdb, consumer.Config{})
//	err = c.Listen(orders, consumer.ListenerFunc(func(ctx context.Context, d *consumer.Delivery) error {
//		return ship(ctx, d.Content)
//	}), consumer.ListenOptions{})
//	err = c.Start(ctx)
//	…
//	err = c.Close(ctx)
//
// A worker is one started Consumer. The workers of a topic share its slots out
// among themselves by a list of members in Redis, or by ZooKeeper
// ([Config.Slots]). The list says which worker is to work at a slot, and gives no
// right to it: which worker may is decided by the turn script, atomically with each take.
// So a stale list costs a little time and nothing else.
//
// With ZooKeeper a worker works under the id of its session. Its batches have no
// lease: it holds them for as long as the session lives, starts no handler when it
// cannot be sure of that, and cancels those that run before others may be. When the
// session is lost, the worker goes on with another one under another id. When a
// slot stays busy with another worker, ZooKeeper is asked whether that one is
// dead, and only then its batch is taken over.
//
// At each of its slots a worker takes turns (protocol.Scripts.TurnCmd): it
// reports what became of the last batch and takes the next. While a slot has
// nothing due the worker sleeps until its next message is due, and is woken by
// the programs that send; it does not poll. Should a wake-up get lost, the safety look
// ([Config.SafetyLook]) finds what it announced. A turn that has no definite
// answer is repeated unchanged until it has one.
//
// The messages of a batch are handled one after the other in a goroutine of
// their own, those of different slots at the same time, as far as
// [Config.Concurrency] allows. A batch is as large as is handled in about 10
// ms. Without ZooKeeper it is held by a lease on the server's clock, renewed
// while handlers run; a worker starts no handler when it cannot be sure of its
// lease.
//
// This package does not send messages: see package producer. It does not
// promise an order between a retry and later messages of the same slot: serial
// means not at the same time.
package consumer
