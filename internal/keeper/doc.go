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
// # A connection for each session
//
// After a session has expired, the library opens another one on the same zk.Conn without a word, and executes in it
// requests of the old one. So a zk.Conn serves one session and is dropped with it, and conn reads the session's number
// in the server's welcome before the library does.
//
// # The connection is cut before it is closed
//
// zk.Conn.Close ends the session on the server. That must not happen while a handler runs, since other workers would
// take its batch over. So a lost or abandoned session loses its connection first, and ZooKeeper learns nothing: its
// timeout is the time that the handlers have.
//
// # A majority must have decided
//
// A server that has lost the others goes on answering reads for a while, and a leader in that place answers sync, too.
// Meanwhile the others may end its sessions. So only the answer to a write moves the deadline: writes in ask.go. The
// pulse is a write of the worker's own node and then a look whether it still is one. An answered write confirms the one
// before it: confirm in session.go says why.
//
// # We send our own pulse
//
// The library pings, and does not report whether that was answered. It also learns of an expired session from a server
// only, so we count the deadline here, from before the request was written.
//
// # Every call has a timer
//
// The library has none, and holds a call back while it has no connection. A call without an answer after a third of the
// session timeout is given up. If that was the pulse, the connection is dropped, because another server may answer. A
// write without an answer may have been executed, or may be yet. So a worker's own nodes have names that no other worker
// knows, and if a node exists already we ask whose session it belongs to (claim): so a worker learns who is coordinator.
// An assignment is read again before anything else is written.
//
// # Silence ends no session
//
// Others may prove a worker dead when ZooKeeper has ended its session, not when the worker's own deadline has passed:
// then it only cancels its handlers. It gave its id up until 2026-11, and each outage dealt all slots anew.
//
// # A silent worker looks around
//
// A connection may never come back: servers set back to older data refuse a client that has seen newer. wedged in
// pulse.go tries a second one after one and a half timeouts. If that works, and the worker's own stays silent, the
// session is lost.
//
// # A machine's sleep
//
// fools the deadlines. To ask before each handler would cost a round trip and leave a gap.
//
// # A server that does not answer
//
// The library waits 6.7 session timeouts for the welcome of a server. conn makes that a third of one, and none of its
// writes ever fails: when the library cannot write its password on a new connection, it waits for ever for a reader of
// that error.
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
