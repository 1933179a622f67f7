package keeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"
)

const (
	// usualSpread is how long the members wait, at most, before they stand for election.
	// Without it each of them would try in the same moment.
	// A member younger than a session timeout waits for longer than all others: if it
	// crashes soon after each start, no slots would be assigned while it is dead.
	usualSpread = 300 * time.Millisecond

	// vacating is how long a lost member may take to give up the office before it reports
	// the loss.
	vacating = 100 * time.Millisecond

	// backOff is the pause after an error.
	backOff = time.Second
)

var (
	errNotMine = errors.New("another member is the coordinator")
	errOver    = errors.New("the member leaves, or its session is over")
)

// newerError names the node that a newer program wrote.
type newerError struct{ path string }

func (e *newerError) Error() string { return "read " + e.path + ": " + errVersion.Error() }
func (e *newerError) Unwrap() error { return errVersion }

// coordinate takes part in the election of the coordinator, and assigns the slots while
// this member is the coordinator, until ctx ends or the session is over. It gives the
// office up before it returns, so that another member gets it at once.
func (m *Member) coordinate(ctx context.Context) {
	c := &coordinator{s: m.session, tree: m.tree, id: m.id, log: m.log, since: time.Now(), recheck: m.keeper.recheck, delays: usualDelays, spread: usualSpread}
	c.run(ctx)
}

func (c *coordinator) run(ctx context.Context) {
	var warned time.Time
	for {
		err := c.stand(ctx)
		if err == nil {
			c.log.Info("coordinator was elected")
			err = c.lead(ctx)
			c.resign(ctx)
		}
		var newer *newerError
		if errors.As(err, &newer) {
			c.log.Error("coordinator steps down while there is a node of a newer version", zap.Error(err))
			err = c.outlive(ctx, newer.path)
		}
		switch {
		case c.ended(ctx):
			return
		case err == nil || errors.Is(err, errNotMine):
			continue
		case time.Since(warned) > c.recheck:
			c.log.Warn("coordination failed and is tried again", zap.Error(err))
			warned = time.Now()
		}
		c.wait(ctx, backOff, nil)
	}
}

// stand returns nil when this member has become the coordinator, and waits while
// another one is. A member that is about to leave does not stand for election: it would
// have to be replaced soon, and no slots would be assigned in between.
func (c *coordinator) stand(ctx context.Context) error {
	path := c.tree.coordinator()
	for first := true; !c.ended(ctx); first = false {
		there, stat, watch, err := c.s.existsW(ctx, path)
		if err != nil {
			return err
		}
		for there {
			if stat.EphemeralOwner == c.s.id() {
				return nil // claimed before, without an answer
			}
			if stat.EphemeralOwner == 0 {
				if err := c.oust(ctx, watch); err != nil {
					return err
				}
				break
			}
			if c.wait(ctx, c.recheck, watch) || c.ended(ctx) {
				break
			}
			if there, stat, err = c.s.exists(ctx, path); err != nil {
				return err
			}
		}
		if there {
			continue // it was
		}
		if !first && (c.wait(ctx, c.pause(), watch) || c.ended(ctx)) {
			continue // another member was quicker
		}
		if leaving, _, err := c.s.exists(ctx, c.tree.leaving(c.id)); err != nil {
			return err
		} else if leaving {
			c.wait(ctx, c.recheck, nil)
			continue
		}
		if mine, err := c.s.claim(ctx, path, []byte(c.id)); mine || err != nil {
			return err
		}
	}
	return errOver
}

// pause is how long this member waits until it stands for election.
func (c *coordinator) pause() time.Duration {
	pause := rand.N(c.spread)
	if time.Since(c.since) < c.s.timeout() {
		pause += c.spread
	}
	return pause
}

// oust removes a coordinator node that belongs to no session, made by a person or by a
// tool that copies a tree: while it exists, no slots are assigned.
func (c *coordinator) oust(ctx context.Context, watch <-chan zk.Event) error {
	path := c.tree.coordinator()
	if c.wait(ctx, rand.N(c.spread), watch) {
		return nil // another member was quicker
	}
	// Another member may have removed it since, and been elected.
	removed, err := c.s.removeLasting(ctx, path)
	if err != nil {
		return fmt.Errorf("%w: it belongs to no worker, and keeps all slots as they are; deleteall %s in zkCli.sh repairs that", err, path)
	}
	if removed {
		c.log.Warn("a coordinator node that belonged to no session was removed", zap.String("path", path))
	}
	return nil
}

// resign gives the office up. Without an answer it is given up with the session.
func (c *coordinator) resign(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if err := c.s.removeOwn(ctx, c.tree.coordinator()); err != nil && !c.ended(ctx) {
		c.log.Warn("office of the coordinator was not given up", zap.Error(err))
	}
}

// vacate gives up the office of a member whose node was deleted, if it has the office:
// the session lives, and would keep the office from all others until its timeout. It
// must not take long, since the loss is reported after it.
func (m *Member) vacate() error {
	ctx, cancel := context.WithTimeout(m.ctx, vacating)
	defer cancel()
	return m.session.removeOwn(ctx, m.tree.coordinator())
}

// outlive returns nil when the node that a newer program wrote is gone, or can be read.
func (c *coordinator) outlive(ctx context.Context, path string) error {
	data, _, watch, err := c.s.getW(ctx, path)
	for {
		switch {
		case errors.Is(err, zk.ErrNoNode):
			return nil
		case err != nil:
			return err
		case !errors.Is(known(data), errVersion):
			return nil
		}
		if fired := c.wait(ctx, c.recheck, watch); c.ended(ctx) {
			return errOver
		} else if fired {
			data, _, watch, err = c.s.getW(ctx, path)
		} else {
			data, _, err = c.s.get(ctx, path)
		}
	}
}

// wait returns true when the watch fires, and false after d, or when there is nothing
// to wait for any more.
func (c *coordinator) wait(ctx context.Context, d time.Duration, watch <-chan zk.Event) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-watch:
		return true
	case <-timer.C:
	case <-ctx.Done():
	case <-c.s.over():
	}
	return false
}

// ended reports whether this member has nothing to do here any more.
func (c *coordinator) ended(ctx context.Context) bool {
	select {
	case <-c.s.over():
		return true
	default:
		return ctx.Err() != nil
	}
}
