package rmqprom

import (
	"context"
	"errors"
	"time"

	"github.com/slotmq/go-rmq/inspector"
)

// A round goes through all topics. A look does a part of it, or all if there are not many.
// It has a goroutine of its own: the Redis client may wait for a server that hangs for longer
// than a scrape may take.

// look is one of them.
type look struct {
	begun time.Time
	ended chan struct{}
}

// refresh looks at Redis unless that was done just now. It waits no longer than Timeout
// since the look began.
func (s *State) refresh() {
	s.mu.Lock()
	l := s.look
	if l == nil || l.isOver() && time.Since(l.begun) >= s.cfg.Every {
		l = &look{begun: time.Now(), ended: make(chan struct{})}
		s.look = l
		go s.run(l)
	}
	s.mu.Unlock()
	patience := time.NewTimer(s.cfg.Timeout - time.Since(l.begun))
	defer patience.Stop()
	select {
	case <-l.ended:
	case <-patience.C:
	}
}

func (l *look) isOver() bool {
	select {
	case <-l.ended:
		return true
	default:
		return false
	}
}

// run looks at the next topics of the round, or begins one.
func (s *State) run(l *look) {
	defer close(l.ended)
	ctx, cancel := context.WithDeadline(context.Background(), l.begun.Add(s.cfg.Timeout))
	defer cancel()
	if len(s.round) == 0 { // it belongs to the look that is under way
		names, err := s.names(ctx)
		s.note(err)
		if names == nil {
			return
		}
		s.keep(names)
		s.round = names
	}
	for left := s.cfg.MaxSlots; len(s.round) > 0 && left > 0; {
		name := s.round[0]
		s.round = s.round[1:] // also one that takes too long: the others have their turn
		stats, err := s.inspector.Stats(ctx, name)
		if ctx.Err() != nil {
			s.note(ctx.Err())
			return
		}
		s.see(name, stats, err)
		left -= max(1, stats.Topic.Slots)
	}
}

// names are the topics of a round. With an error they are those that are known.
func (s *State) names(ctx context.Context) ([]string, error) {
	if !s.cfg.patterns() {
		return s.cfg.Topics, nil
	}
	topics, err := s.inspector.Topics(ctx)
	names := make([]string, 0, len(topics))
	for _, t := range topics {
		if s.cfg.wants(t.Name) {
			names = append(names, t.Name)
		}
	}
	if topics == nil {
		return nil, err
	}
	return names, err
}

// keep drops the figures of topics that are gone.
func (s *State) keep(names []string) {
	there := make(map[string]bool, len(names))
	for _, name := range names {
		there[name] = true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.topics {
		if !there[name] {
			delete(s.topics, name)
		}
	}
}

// see notes what a topic holds. Where it could be looked at in part, that part counts, and
// where not at all, what was known of it is not shown any more. A topic that is not there
// yet is no error.
func (s *State) see(name string, stats inspector.Stats, err error) {
	if errors.Is(err, inspector.ErrUnknownTopic) {
		s.note(nil)
		s.forget(name)
		return
	}
	s.note(err)
	if stats.Topic.Slots == 0 {
		s.forget(name)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.topics[name] = figure{stats, time.Now()}
}

func (s *State) forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.topics, name)
}

// note counts an error, or notes that Redis has answered, if in part.
func (s *State) note(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.errors++
	}
	if partial := (*inspector.PartialError)(nil); err == nil || errors.As(err, &partial) {
		s.heard = time.Now()
	}
}
