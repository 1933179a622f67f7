package keeper

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/go-zookeeper/zk"
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
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

// candidate is a member in the election of the coordinator.
type candidate struct {
	session *session.Session
	tree    tree
	id      string
	log     *zap.Logger
	since   time.Time // of the member
	recheck time.Duration
	delays  delays
	spread  time.Duration
}

// run takes part in the election, and assigns the slots while this member is the coordinator,
// until ctx ends or the session is over. It gives the office up before it returns, so that
// another member gets it at once.
func (c *candidate) run(ctx context.Context) {
	var warned time.Time
	for {
		err := c.stand(ctx)
		if err == nil {
			c.log.Info("coordinator was elected")
			err = c.elected().lead(ctx)
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

// elected is this member as the coordinator.
func (c *candidate) elected() *coordinator {
	return &coordinator{session: c.session, tree: c.tree, log: c.log, recheck: c.recheck, delays: c.delays, topics: map[string]*shares{}}
}

// stand returns nil when this member has become the coordinator, and waits while
// another one is. A member that is about to leave does not stand for election: it would
// have to be replaced soon, and no slots would be assigned in between.
func (c *candidate) stand(ctx context.Context) error {
	path := c.tree.coordinator()
	for first := true; !c.ended(ctx); first = false {
		there, stat, watch, err := c.session.ExistsW(ctx, path)
		if err != nil {
			return err
		}
		if there {
			mine, gone, err := c.outlast(ctx, stat, watch)
			if mine || err != nil {
				return err
			}
			if !gone {
				continue // it was there just now
			}
		}
		if !first && (c.wait(ctx, c.pause(c.session.Timeout()), watch) || c.ended(ctx)) {
			continue // another member was quicker
		}
		if leaving, _, err := c.session.Exists(ctx, c.tree.leaving(c.id)); err != nil {
			return err
		} else if leaving {
			c.wait(ctx, c.recheck, nil)
			continue
		}
		if mine, err := c.session.Claim(ctx, path, []byte(c.id)); mine || err != nil {
			return err
		}
	}
	return errOver
}

// outlast waits while another member has the office. It reports whether this member has it
// now, or none has. In any other case look again.
func (c *candidate) outlast(ctx context.Context, stat *zk.Stat, watch <-chan zk.Event) (mine, gone bool, err error) {
	for there := true; there; {
		switch {
		case stat.EphemeralOwner == c.session.ID():
			return true, false, nil // claimed before, without an answer
		case stat.EphemeralOwner == 0:
			return false, false, c.oust(ctx, watch)
		case c.wait(ctx, c.recheck, watch) || c.ended(ctx):
			return false, false, nil
		}
		if there, stat, err = c.session.Exists(ctx, c.tree.coordinator()); err != nil {
			return false, false, err
		}
	}
	return false, true, nil
}

// pause is how long this member waits until it stands for election.
func (c *candidate) pause(timeout time.Duration) time.Duration {
	pause := rand.N(c.spread)
	if time.Since(c.since) < timeout {
		pause += c.spread
	}
	return pause
}

// oust removes a coordinator node that belongs to no session, made by a person or by a
// tool that copies a tree: while it exists, no slots are assigned.
func (c *candidate) oust(ctx context.Context, watch <-chan zk.Event) error {
	path := c.tree.coordinator()
	if c.wait(ctx, rand.N(c.spread), watch) {
		return nil // another member was quicker
	}
	// Another member may have removed it since, and been elected.
	removed, err := c.session.RemoveLasting(ctx, path)
	if err != nil {
		return fmt.Errorf("%w: it belongs to no worker, and keeps all slots as they are; deleteall %s in zkCli.sh repairs that", err, path)
	}
	if removed {
		c.log.Warn("a coordinator node that belonged to no session was removed", zap.String("path", path))
	}
	return nil
}

// resign gives the office up. Without an answer it is given up with the session.
func (c *candidate) resign(ctx context.Context) {
	ctx = context.WithoutCancel(ctx)
	if err := c.session.RemoveOwn(ctx, c.tree.coordinator()); err != nil && !c.ended(ctx) {
		c.log.Warn("office of the coordinator was not given up", zap.Error(err))
	}
}

// outlive returns nil when the node that a newer program wrote is gone, or can be read.
func (c *candidate) outlive(ctx context.Context, path string) error {
	data, _, watch, err := c.session.GetW(ctx, path)
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
			data, _, watch, err = c.session.GetW(ctx, path)
		} else {
			data, _, err = c.session.Get(ctx, path)
		}
	}
}

// wait returns true when the watch fires, and false after d, or when there is nothing
// to wait for any more.
func (c *candidate) wait(ctx context.Context, d time.Duration, watch <-chan zk.Event) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-watch:
		return true
	case <-timer.C:
	case <-ctx.Done():
	case <-c.session.Context().Done():
	}
	return false
}

// ended reports whether this member has nothing to do here any more.
func (c *candidate) ended(ctx context.Context) bool {
	select {
	case <-c.session.Context().Done():
		return true
	default:
		return ctx.Err() != nil
	}
}

// vacate gives up the office of a member whose node was deleted, if it has the office:
// the session lives, and would keep the office from all others until its timeout. It
// must not take long, since the loss is reported after it.
func vacate(ctx context.Context, s *session.Session, t tree) error {
	ctx, cancel := context.WithTimeout(ctx, vacating)
	defer cancel()
	return s.RemoveOwn(ctx, t.coordinator())
}
