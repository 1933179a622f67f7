package keeper

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/wait"
)

// beats is how many writes a worker makes in a session timeout. With more of them it
// survives longer outages. A beat must be longer than half a tick of the servers; see
// confirmed.
const beats = 8

// beat writes the worker's own node now and then, and checks that the node of the worker
// still exists. A watch fires at once when it does not: from then on others may take over.
func (m *Member) beat() {
	back, stop := m.session.reconnected()
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
		case <-m.ctx.Done():
			return
		}
		if err := m.checkNode(&touched); errors.Is(err, errNoAnswer) {
			// The library would go on waiting for twice as long. Another server may answer.
			m.session.dialer.drop()
		}
		timer.Reset(m.session.timeout() / beats)
	}
}

// checkNode writes first, for two reasons: only an answered write proves that the session
// lives, and the server we read from may be behind. No worker watches what is written.
// It leaves a watch on the worker's node if there is none.
func (m *Member) checkNode(touched *<-chan zk.Event) error {
	written := m.write(m.ctx)
	if written != nil && !refused(written) {
		return written
	}
	path, begun := m.tree.worker(m.id), time.Now()
	var there bool
	var stat *zk.Stat
	var err error
	if *touched == nil {
		there, stat, *touched, err = m.session.existsW(m.ctx, path)
	} else {
		there, stat, err = m.session.exists(m.ctx, path)
	}
	switch {
	case err != nil:
		return err
	case !there:
		left := m.vacate()
		m.session.lose(fmt.Errorf("%s was deleted", path))
		if left != nil { // logged last, since a log may block
			m.log.Warn("office of the coordinator was not given up", zap.Error(left))
		}
	case stat.EphemeralOwner != m.session.id():
		m.session.lose(fmt.Errorf("%s was replaced", path))
	case errors.Is(written, zk.ErrNoNode):
		m.found.Store(&begun)
		return m.rewrite(m.ctx)
	default:
		m.found.Store(&begun)
	}
	return nil
}

// write writes what the worker holds, to a node of its own.
func (m *Member) write(ctx context.Context) error {
	_, err := m.session.set(ctx, m.tree.owned(m.id), m.holdings.encode(), -1)
	return err
}

// rewrite makes the node for the writes again after it was deleted, perhaps with all
// others.
func (m *Member) rewrite(ctx context.Context) error {
	if err := m.session.ensure(ctx, m.tree.owners(), nil); err != nil {
		return err
	}
	_, err := m.session.claim(ctx, m.tree.owned(m.id), m.holdings.encode())
	return err
}

// watchSilence ends a session that is silent while ZooKeeper is not.
func (m *Member) watchSilence() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
			wait, why := m.wedged()
			if why != nil {
				m.session.lose(why)
			}
			timer.Reset(wait)
		case <-m.ctx.Done():
			if err := m.Err(); err != nil {
				m.log.Warn("the session is lost", zap.Error(err))
			}
			return
		}
	}
}

// wedged finds out whether ZooKeeper is away, which the session waits out, or
// answers others while we cannot reach it. That can happen: servers that were set back to
// older data refuse a client that has seen newer.
func (m *Member) wedged() (time.Duration, error) {
	timeout := m.session.timeout()
	late := timeout * 3 / 2
	if silent := time.Since(m.session.confirmed()); silent < late {
		return late - silent, nil
	}
	other, err := open(m.ctx, m.keeper.cfg)
	if err != nil {
		return timeout, nil
	}
	other.close()
	// If ZooKeeper has just come back, our own session must get an answer next.
	wait.Sleep(m.ctx, timeout)
	if time.Since(m.session.confirmed()) < late {
		return late, nil
	}
	return 0, errWedged
}
