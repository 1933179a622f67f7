package keeper

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"
)

// portion is a worker's share of one topic.
type portion struct {
	slots   []int
	known   bool  // there is an assignment
	refused bool  // the definition differs
	passed  []int // to Own
	once    bool  // Own was called
}

// updateShare changes a portion, and calls Own if the worker's slots are others now.
func (m *Member) updateShare(topic string, change func(*portion)) {
	m.owning.Lock()
	defer m.owning.Unlock()
	s := m.shares[topic]
	change(s)
	own := s.slots
	if s.refused {
		own = nil
	}
	if !s.known || s.once && slices.Equal(own, s.passed) {
		return
	}
	s.passed, s.once = own, true
	m.worker.Own(topic, slices.Clone(own))
}

// follow passes each change of a topic's assignment to Own. It also reads it again
// when a watch may have missed something. It calls read when it knows the present one.
func (m *Member) follow(t Topic, read func()) {
	defer read()
	back, stop := m.session.reconnected()
	defer stop()
	var watch <-chan zk.Event
	logged := ""
	for {
		again := m.keeper.recheck
		err := m.reread(t, &watch)
		switch {
		case m.ctx.Err() != nil:
			return
		case passing(err):
			again = time.Second // or when the connection is back
		case err != nil && err.Error() != logged:
			m.log.Error("the assignment cannot be used; the one before goes on", zap.String("topic", t.Name), zap.Error(err))
		}
		if logged = ""; err != nil {
			logged = err.Error()
		}
		if !passing(err) {
			read()
		}
		timer := time.NewTimer(again)
		select {
		case <-watch:
			watch = nil // it fires once
		case <-back:
		case <-timer.C:
		case <-m.ctx.Done():
		}
		timer.Stop()
	}
}

// reread reads a topic's assignment, and leaves a watch if there is none.
func (m *Member) reread(t Topic, watch *<-chan zk.Event) error {
	data, err := m.readAssignment(m.ctx, m.tree.assign(t.Name), watch)
	if errors.Is(err, zk.ErrNoNode) {
		return nil // it was not written yet, or was deleted
	}
	if err != nil {
		return err
	}
	a, err := decodeAssignment(data)
	if err == nil && len(a.owners) != t.Slots {
		err = fmt.Errorf("%d slots, not %d", len(a.owners), t.Slots)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", m.tree.assign(t.Name), err)
	}
	m.updateShare(t.Name, func(s *portion) { s.slots, s.known = a.of(m.id), true })
	return nil
}

func (m *Member) readAssignment(ctx context.Context, path string, watch *<-chan zk.Event) (data []byte, err error) {
	if *watch != nil {
		data, _, err = m.session.get(ctx, path)
		return data, err
	}
	data, _, *watch, err = m.session.getW(ctx, path)
	if !errors.Is(err, zk.ErrNoNode) {
		return data, err
	}
	if _, _, *watch, err = m.session.existsW(ctx, path); err != nil {
		return nil, err
	}
	data, _, err = m.session.get(ctx, path) // it may have been written in between
	return data, err
}

// compare compares the definitions again and again: one may have been deleted, or
// replaced while the topic was not handled.
func (m *Member) compare() {
	ticker := time.NewTicker(m.keeper.recheck)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-m.ctx.Done():
			return
		}
		layout := m.agreeOnLayout(m.ctx)
		for _, t := range m.worker.Topics {
			err := layout
			if err == nil {
				err = m.agree(m.ctx, t)
			}
			if m.ctx.Err() != nil {
				return
			}
			m.judge(t.Name, err)
		}
	}
}

// judge stops the handling of a topic whose definition differs until it agrees again.
func (m *Member) judge(topic string, err error) {
	conflict := errors.Is(err, ErrConflict)
	if err != nil && !conflict {
		if !passing(err) { // else ZooKeeper is away, which is said elsewhere
			m.log.Warn("the definition could not be compared", zap.String("topic", topic), zap.Error(err))
		}
		return
	}
	m.updateShare(topic, func(s *portion) {
		if conflict && !s.refused {
			m.log.Error("topic is not worked at", zap.String("topic", topic), zap.Error(err))
		}
		s.refused = conflict
	})
}
