package keeper

import (
	"errors"
	"fmt"
)

// ErrConflict is returned by Join when ZooKeeper has another definition of a topic,
// or another layout of everything.
var ErrConflict = errors.New("it is defined differently in ZooKeeper")

// ErrNoTree is returned by View where nobody has joined yet.
var ErrNoTree = errors.New("nobody has worked with ZooKeeper there")

// InvalidError names what was refused.
type InvalidError struct {
	Field string // such as "ZooKeeperConfig.Root"
	Value string // what was passed
	Limit string // what it must be
}

func (e *InvalidError) Error() string {
	return e.Field + " is " + e.Value + "; it must be " + e.Limit
}

func invalid(field string, value any, limit string) error {
	return &InvalidError{Field: "ZooKeeperConfig." + field, Value: fmt.Sprint(value), Limit: limit}
}

// Why a session is over.
var (
	errExpired   = errors.New("ZooKeeper has ended the session")
	errReplaced  = errors.New("ZooKeeper has given the connection another session")
	errWedged    = errors.New("ZooKeeper answers, but not on this session's connection")
	errClosed    = errors.New("the session was closed")
	errAbandoned = errors.New("the session was abandoned")
)

// errNoAnswer is of a call whose time is over. It may be carried out yet.
var errNoAnswer = errors.New("no answer")
