package session

import "errors"

// Why a session is over.
var (
	errExpired   = errors.New("ZooKeeper has ended the session")
	errReplaced  = errors.New("ZooKeeper has given the connection another session")
	errWedged    = errors.New("ZooKeeper answers, but not on this session's connection")
	errClosed    = errors.New("the session was closed")
	errAbandoned = errors.New("the session was abandoned")
)

// errNoAnswer is the error of a call whose time is over. It may be executed yet.
var errNoAnswer = errors.New("no answer")

// errDeleted is about the node that shows others that a worker lives.
var errDeleted = errors.New("was deleted")
