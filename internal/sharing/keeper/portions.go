package keeper

import (
	"errors"
	"slices"
	"sync"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// portions are a worker's shares of its topics.
type portions struct {
	own func(topic string, slots []int) // of the Worker
	log *zap.Logger

	mu sync.Mutex // own is being called, too
	of map[string]*portion
}

// portion is a worker's share of one topic.
type portion struct {
	slots   []int
	known   bool  // there is an assignment
	refused bool  // the definition differs
	passed  []int // to Own
	once    bool  // Own was called
}

func newPortions(topics []Topic, own func(string, []int), log *zap.Logger) *portions {
	p := &portions{own: own, log: log, of: map[string]*portion{}}
	for _, t := range topics {
		p.of[t.Name] = &portion{}
	}
	return p
}

// update changes a portion, and calls Own if the worker has other slots now.
func (p *portions) update(topic string, change func(*portion)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.of[topic]
	change(s)
	own := s.slots
	if s.refused {
		own = nil
	}
	if !s.known || s.once && slices.Equal(own, s.passed) {
		return
	}
	s.passed, s.once = own, true
	p.own(topic, slices.Clone(own))
}

// assigned notes which slots of a topic the worker should have.
func (p *portions) assigned(topic string, slots []int) {
	p.update(topic, func(s *portion) { s.slots, s.known = slots, true })
}

// compared stops the handling of a topic whose definition differs until it agrees again.
func (p *portions) compared(topic string, err error) {
	conflict := errors.Is(err, ErrConflict)
	if err != nil && !conflict {
		if !session.Passing(err) { // else ZooKeeper is away, which is said elsewhere
			p.log.Warn("the definition could not be compared", zap.String("topic", topic), zap.Error(err))
		}
		return
	}
	p.update(topic, func(s *portion) {
		if conflict && !s.refused {
			p.log.Error("topic is not worked at", zap.String("topic", topic), zap.Error(err))
		}
		s.refused = conflict
	})
}
