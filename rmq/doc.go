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
// Give Close a context with a deadline: it waits for handlers that run until
// that ends, and one that hangs would hold it up for ever.
//
// A service that only sends leaves out Listen and Start. Any number of
// processes may start a client with the same topics; they share the work, by a
// list in Redis, or with Config.Slots from package slots by ZooKeeper.
//
// The words are aliases of those in packages message, producer and consumer,
// which can also be used by themselves.
//
// What is promised: a message whose Send returned nil is delivered at least
// once, or dead after 17 failed deliveries, as long as Redis keeps what it
// acknowledged. Messages of one slot basis are never handled at the same time
// by live workers. A FixedTime message is never early. Not promised: exactly
// once, first in first out, any order of equal scores, or the order of a retry
// relative to later messages.
package rmq
