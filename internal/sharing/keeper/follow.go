package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// follower passes each change of a topic's assignment on.
type follower struct {
	session  *session.Session
	path     string // of the assignment
	topic    Topic
	id       string                          // of the worker
	assigned func(topic string, slots []int) // called with its slots
	recheck  time.Duration
	log      *zap.Logger

	watch  <-chan zk.Event // nil when it has fired, and before the first read
	logged string          // the last error
}

// run also reads the assignment again when a watch may have missed something, as when the
// connection is back. It calls read when it knows the present one.
func (f *follower) run(ctx context.Context, back <-chan struct{}, read func()) {
	defer read()
	for {
		again := f.recheck
		err := f.reread(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case session.Passing(err):
			again = time.Second // or when the connection is back
		case err != nil && err.Error() != f.logged:
			f.log.Error("the assignment cannot be used; the one before goes on", zap.String("topic", f.topic.Name), zap.Error(err))
		}
		if f.logged = ""; err != nil {
			f.logged = err.Error()
		}
		if !session.Passing(err) {
			read()
		}
		timer := time.NewTimer(again)
		select {
		case <-f.watch:
			f.watch = nil // it fires once
		case <-back:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// reread reads the assignment, and leaves a watch if there is none.
func (f *follower) reread(ctx context.Context) error {
	data, err := f.read(ctx)
	if errors.Is(err, zk.ErrNoNode) {
		return nil // it was not written yet, or was deleted
	}
	if err != nil {
		return err
	}
	a, err := decodeAssignment(data)
	if err == nil && len(a.owners) != f.topic.Slots {
		err = fmt.Errorf("%d slots, not %d", len(a.owners), f.topic.Slots)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", f.path, err)
	}
	f.assigned(f.topic.Name, a.of(f.id))
	return nil
}

func (f *follower) read(ctx context.Context) (data []byte, err error) {
	if f.watch != nil {
		data, _, err = f.session.Get(ctx, f.path)
		return data, err
	}
	data, _, f.watch, err = f.session.GetW(ctx, f.path)
	if !errors.Is(err, zk.ErrNoNode) {
		return data, err
	}
	if _, _, f.watch, err = f.session.ExistsW(ctx, f.path); err != nil {
		return nil, err
	}
	data, _, err = f.session.Get(ctx, f.path) // it may have been written in between
	return data, err
}
