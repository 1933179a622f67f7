// Package rmqtest lets tests of code that uses RMQ run without a server and
// without waiting: a client on an in-memory Redis whose clock the test moves.
//
//	c := rmqtest.New(t, rmq.Config{})
//	c.Listen(orders, listener, rmq.ListenOptions{})
//	c.Start(ctx)
//	c.Send(ctx, orders, rmq.FixedTime{Content: "4711", At: c.Now().Add(24 * time.Hour)})
//	c.Advance(24 * time.Hour) // the listener has handled it when this returns
//
// The scripts and the client are those that run in production. The in-memory Redis is
// not fast, and not for large backlogs.
package rmqtest
