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

// portion is what a worker is to work at of one topic.
type portion struct {
	slots   []int
	known   bool // there is an assignment
	refused bool // the definition differs
	told    []int
	once    bool // Own was told
}

// tell changes a portion, and tells Own what has become of it.
func (m *Member) tell(topic string, change func(*portion)) {
	m.owning.Lock()
	defer m.owning.Unlock()
	s := m.shares[topic]
	change(s)
	own := s.slots
	if s.refused {
		own = nil
	}
	if !s.known || s.once && slices.Equal(own, s.told) {
		return
	}
	s.told, s.once = own, true
	m.worker.Own(topic, slices.Clone(own))
}

// follow tells Own of each change of a topic's assignment. It reads it again, too,
// when a watch may have missed something. It calls read when it knows the present one.
func (m *Member) follow(t Topic, read func()) {
	defer read()
	back, stop := m.session.reconnected()
	defer stop()
	var watch <-chan zk.Event
	told := ""
	for {
		again := m.keeper.recheck
		err := m.reread(t, &watch)
		switch {
		case m.ctx.Err() != nil:
			return
		case passing(err):
			again = time.Second // or when the connection is back
		case err != nil && err.Error() != told:
			m.log.Error("the assignment cannot be used; the one before goes on", zap.String("topic", t.Name), zap.Error(err))
		}
		if told = ""; err != nil {
			told = err.Error()
		}
		if !passing(err) {
			read()
		}
		timer := time.NewTimer(again)
		select {
		case <-watch:
			watch = nil // it tells once
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
		return nil // nobody has shared the slots out yet, or somebody has deleted it
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
	m.tell(t.Name, func(s *portion) { s.slots, s.known = a.of(m.id), true })
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
	data, _, err = m.session.get(ctx, path) // it may have come in between
	return data, err
}

// compare compares the definitions again and again: somebody may have deleted one,
// or replaced it while the topic rested.
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

// judge stops the work at a topic whose definition differs until it agrees again.
func (m *Member) judge(topic string, err error) {
	conflict := errors.Is(err, ErrConflict)
	if err != nil && !conflict {
		m.log.Warn("the definition could not be compared", zap.String("topic", topic), zap.Error(err))
		return
	}
	m.tell(topic, func(s *portion) {
		if conflict && !s.refused {
			m.log.Error("topic is not worked at", zap.String("topic", topic), zap.Error(err))
		}
		s.refused = conflict
	})
}
