// Package rmq is the front door of RMQ: a message queue on Redis sorted sets
// for messages that merge while they wait, messages of any numeric priority,
// messages due at any time, and messages of one entity that are handled one at
// a time in the whole cluster. There is no broker to run.
//
// A [Client] sends, and, once it is started, delivers to its listeners:
//
//	client, err := rmq.New(rmq.Config{Redis: rdb})
//	orders := rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime}
//	err = client.Listen(orders, rmq.ListenerFunc(func(ctx context.Context, d *rmq.Delivery) error {
//		return closeOrder(ctx, d.Content)
//	}), rmq.ListenOptions{})
//	err = client.Start(ctx)
//	_, err = client.Send(ctx, orders, rmq.FixedTime{Content: "4711", In: 30 * time.Minute})
//	…
//	err = client.Close(ctx)
//
// Give Close a context with a deadline. It waits for running handlers until then.
//
// A service that only sends needs no Listen and no Start. Start a client with the
// same topics in as many processes as you like: they share the work.
//
// # Promises
//
//   - A message whose Send returned nil is delivered at least once, as long as Redis
//     keeps what it acknowledged. After 17 failed deliveries it is dead: it stays in
//     Redis until you requeue or delete it.
//   - Messages of one slot basis are never handled at the same time by live workers.
//   - A FixedTime message is never early.
//
// Not promised: exactly once; first in, first out; any order of equal priorities or
// times; the order of a retry and later messages.
//
// docs/GUIDE.md has the usual tasks, with code to copy. Most types here are aliases of those in
// packages message, producer and consumer, which you can also use by themselves. What only authors of
// metrics and middleware name is there: events and their words in message, what wraps a send in
// producer, what wraps a handler, and OutcomeOf, in consumer. What Explain and Reschedule return is in
// inspector, and what Plans returns in inspector/plans.
package rmq
