package keeper

import (
	"errors"
	"fmt"

	"github.com/slotmq/go-rmq/message"
)

// ErrConflict is returned by Join when ZooKeeper has another definition of a topic,
// or another layout of everything.
var ErrConflict = errors.New("it is defined differently in ZooKeeper")

// ErrNoTree is returned by View if no worker has joined yet.
var ErrNoTree = errors.New("no worker has joined there yet")

func invalid(field string, value any, limit string) error {
	return &message.InvalidError{Field: "ZooKeeperConfig." + field, Value: fmt.Sprint(value), Limit: limit}
}

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
