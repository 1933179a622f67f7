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
//
// # What proves that a worker lives
//
// It has a session, which goes on while servers come and go, and a pulse: package session says how far both can be trusted.
//
// # Names that no other worker knows
//
// A write without an answer may have been executed, or may be yet. So a worker's own nodes have names that no other worker
// knows, and if a node exists already we ask whose session it belongs to (claim): so a worker learns who is coordinator.
// An assignment is read again before anything else is written.
//
// # Silence ends no session
//
// Others may prove a worker dead when ZooKeeper has ended its session, not when the worker's own deadline has passed:
// then it only cancels its handlers. It gave its id up until 2026-11, and each outage dealt all slots anew.
//
// # A machine's sleep
//
// A machine that sleeps may miss its deadlines without noticing. Asking before each
// handler would cost a round trip and still leave a gap.
//
// # A write before the look
//
// A server may be so far behind the others that it does not know yet of a worker that has joined and taken a batch
// since. To it the worker was never there; it looks dead. After a write of the same session has been answered, that
// cannot be any more. sync would not do: the majority does not decide on it.
//
// # Verified once, remembered for ever
//
// No id is used twice, so a death is final, and all clients of one slots.ZooKeeper share what they know.
//
// # Two nodes on leaving
//
// A worker that leaves must lose its slots and still count as alive. Its node cannot change, because it is read only
// once; and deleting it would declare its handlers dead. Hence a second node, !leaving.
//
// # Names of workers are read once
//
// workers/{id} never changes, so the coordinator reads the nodes it does not know, and a join among hundreds costs one
// listing and one read. Only the coordinator watches the list: the others are woken when their assignment changes, and
// by nothing else.
//
// # A newcomer is judged by the writes of others
//
// A coordinator cannot see which worker was which before a crash: many workers have the same host name, or a container
// has another one at each start. But a crashed worker writes nothing after the worker that takes its place has come. So
// a newcomer waits until all workers that have slots have written since. That takes an eighth of a session timeout when
// they live, and until the session ends when one of them does not. Nothing new is stored: the writes are those for the
// deadlines, and ZooKeeper numbers them, so a new coordinator knows as much as the one before. The price: when workers
// are replaced faster than one in two beats, slots go first to those that are still there, and move twice.
//
// # Least movement needs a memory
//
// share.Of computes the same shares everywhere from a list of members; it moves one to three times what it must. The
// least movement depends on which worker had what before, and that has to be written somewhere: /assign.
//
// # The same question again after 30 s
//
// A watch can be missed: when a connection comes back, an answer to an older request may raise what the library believes
// to have seen. So everything that is watched is also read, now and then, and after each reconnection.
package keeper
