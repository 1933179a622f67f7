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

// Why a member does not assign slots, or stops doing so.
var (
	errNotMine = errors.New("another member is the coordinator")
	errOver    = errors.New("the member leaves, or its session is over")
)

// errVersion is about a node that a newer program wrote: this one must neither guess
// its contents nor overwrite it.
var errVersion = errors.New("written by a newer version of RMQ")

// newerError names the node that a newer program wrote.
type newerError struct{ path string }

func (e *newerError) Error() string { return "read " + e.path + ": " + errVersion.Error() }
func (e *newerError) Unwrap() error { return errVersion }

// errBroken is about a topic that cannot be shared out until a person has acted.
var errBroken = errors.New("topic is not shared out")

func broken(err error) error { return fmt.Errorf("%w: %w", errBroken, err) }
