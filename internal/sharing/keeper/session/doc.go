// Package session keeps one session with ZooKeeper while servers come and go, and says for how
// long it surely lives.
//
//	s, err := session.Open(ctx, cfg)
//	data, _, err := s.Get(ctx, "/rmq/meta") // and more calls, each with a timer
//	s.Deadline()                            // others may prove us dead a while later, unless it has moved on
//	<-s.Lost()                              // ZooKeeper has ended it, or it will not be heard in it again
//	s.Close()                               // ends it; s.Leave() leaves it to its timeout
//
// A [Pulse] is what moves the deadline: the writes of a worker, and its looks at its own node.
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
// before it: confirm in signs.go says why.
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
// write without an answer may have been executed, or may be yet. So if a node exists already we ask whose session it
// belongs to (Claim).
//
// # A silent worker looks around
//
// A connection may never come back: servers set back to older data refuse a client that has seen newer. wedged in
// session.go tries a second one after one and a half timeouts. If that works, and the worker's own stays silent, the
// session is lost.
//
// # A server that does not answer
//
// The library waits 6.7 session timeouts for the welcome of a server. conn makes that a third of one, and none of its
// writes ever fails: when the library cannot write its password on a new connection, it waits for ever for a reader of
// that error.
//
// The package does not know what the nodes mean, gives no verdict on other sessions, and opens no second session when one
// is lost.
package session
