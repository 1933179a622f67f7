package session

import (
	"context"
	"errors"
	"fmt"
	"path"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"
)

// Pulse is a worker's sign of life, for itself and for the others: it writes a node now and
// then, which only an answer of ZooKeeper's majority confirms, and looks whether the node by
// which the others know the worker is still there.
type Pulse struct {
	session  *Session
	node     string // by which the others know it
	written  string
	contents func() []byte
	found    atomic.Pointer[time.Time] // when the last look at node was begun that found it
}

// NewPulse is the pulse of a worker whose node belongs to the session. The contents are
// those of the node that it writes, which should belong to it, too.
func NewPulse(s *Session, node, written string, contents func() []byte) *Pulse {
	return &Pulse{session: s, node: node, written: written, contents: contents}
}

// Run writes and looks until ctx ends, which must not outlast the session. A watch fires at
// once when the node is gone: from then on others may take over. Then the session is lost, and
// Run returns. First it calls vacate, and returns its error.
func (p *Pulse) Run(ctx context.Context, vacate func(context.Context) error) (left error) {
	back, stop := p.session.Reconnected()
	defer stop()
	timer := time.NewTimer(0)
	defer timer.Stop()
	var touched <-chan zk.Event
	for {
		select {
		case <-timer.C:
		case <-touched:
			touched = nil
		case <-back: // an outage may have taken most of the time there is
		case <-ctx.Done():
			return nil
		}
		switch err := p.look(ctx, &touched); {
		case errors.Is(err, errDeleted):
			left := vacate(ctx)
			p.session.lose(err)
			return left
		case errors.Is(err, errNoAnswer):
			// The library would go on waiting for twice as long. Another server may answer.
			p.session.dialer.drop()
		}
		timer.Reset(p.session.Timeout() / Beats)
	}
}

// look writes first, for two reasons: only an answered write proves that the session
// lives, and the server we read from may be behind. No worker watches what is written.
// It leaves a watch on the worker's node if there is none.
func (p *Pulse) look(ctx context.Context, touched *<-chan zk.Event) error {
	_, written := p.Write(ctx)
	if written != nil && !refused(written) {
		return written
	}
	begun := time.Now()
	var there bool
	var stat *zk.Stat
	var err error
	if *touched == nil {
		there, stat, *touched, err = p.session.ExistsW(ctx, p.node)
	} else {
		there, stat, err = p.session.Exists(ctx, p.node)
	}
	switch {
	case err != nil:
		return err
	case !there:
		return fmt.Errorf("%s %w", p.node, errDeleted)
	case stat.EphemeralOwner != p.session.ID():
		p.session.lose(fmt.Errorf("%s was replaced", p.node))
	case errors.Is(written, zk.ErrNoNode):
		p.found.Store(&begun)
		return p.rewrite(ctx)
	default:
		p.found.Store(&begun)
	}
	return nil
}

// Write writes.
func (p *Pulse) Write(ctx context.Context) (*zk.Stat, error) {
	return p.session.Set(ctx, p.written, p.contents(), -1)
}

// Barrier writes, and returns nil when a majority has decided on that. A write that is
// refused, because the node was deleted or its ACL changed, is a decision like any other.
func (p *Pulse) Barrier(ctx context.Context) error {
	if _, err := p.Write(ctx); err != nil && !refused(err) {
		return err
	}
	return nil
}

// rewrite makes the node for the writes again after it was deleted, perhaps with all
// others.
func (p *Pulse) rewrite(ctx context.Context) error {
	if err := p.session.Ensure(ctx, path.Dir(p.written), nil); err != nil {
		return err
	}
	_, err := p.session.Claim(ctx, p.written, p.contents())
	return err
}

// Seen is the last time at which the session was surely alive, and the worker's node there:
// after a silence the session may live and the node be gone, so that others take the worker
// for dead.
func (p *Pulse) Seen() time.Time {
	confirmed := p.session.confirmed()
	if found := p.found.Load(); found != nil && found.Before(confirmed) {
		return *found
	}
	return confirmed
}

// Until is the time until which work may be begun without a further answer of ZooKeeper.
func (p *Pulse) Until() time.Time { return p.Seen().Add(p.session.Timeout() * 2 / 3) }
