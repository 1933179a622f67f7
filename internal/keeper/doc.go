// Package keeper shares slots among workers by ZooKeeper, and proves a worker
// dead.
//
//	m, err := keeper.New(cfg).Join(ctx, keeper.Worker{…})
//	m.Until()                // nothing may be started after this, unless it has moved on
//	m.Deadline()             // handlers are cancelled at this time, unless it has moved on
//	<-m.Lost()               // the session is lost: cancel handlers, Join again
//	m.Verify(ctx, holder)    // is the holder of a batch surely dead?
//	m.Leaving(ctx)           // the coordinator gives our slots to others …
//	m.Close()                // … and this ends the session when all of them are left
//
// A [Member] is one session with ZooKeeper, with a connection of its own and an id
// that is never used again. One of the members is the coordinator: it writes for
// each topic which worker gets which slots, so that every slot has a worker, all
// have as many as the others, and little moves when one comes or goes.
//
// The package gives no worker a right to a slot. A late, wrong or second coordinator
// costs time and nothing else: the turn script in Redis decides who may take a batch.
// That script needs only one thing from here: the proof that a holder is dead.
//
// It does not know Redis, and not what a slot is.
package keeper
