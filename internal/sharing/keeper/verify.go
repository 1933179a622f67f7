package keeper

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// deaths are those of workers, which are final.
type deaths struct {
	session *session.Session
	pulse   *session.Pulse
	tree    tree
	id      string // of this worker
	explain func(error) error

	proven *sync.Map // of the Keeper
	from   time.Time // from when on they may be proven; see checkMadeAgain
}

// known reports whether a holder was proven dead before.
func (d *deaths) known(holder string) bool {
	_, dead := d.proven.Load(d.tree.worker(holder))
	return dead
}

// verify is Member.Verify. Our server may be so far behind the others that it does not know a worker yet that has
// joined and taken a batch since. Hence the write before the look. A majority decides on
// the write after all writes before it anywhere, the join included, and from then on
// this session sees no older state, whichever server it asks.
func (d *deaths) verify(ctx context.Context, holder string) (dead bool, err error) {
	if holder == d.id || holder == "" {
		return false, fmt.Errorf("verify %q: it is this worker itself, or empty", holder)
	}
	path := d.tree.worker(holder)
	if d.known(holder) {
		return true, nil
	}
	if time.Now().Before(d.from) {
		return false, nil // not known yet: see checkMadeAgain
	}
	if err := d.pulse.Barrier(ctx); err != nil {
		return false, fmt.Errorf("verify %s: %w", holder, d.explain(err))
	}
	there, stat, err := d.session.Exists(ctx, path)
	if err != nil {
		return false, fmt.Errorf("verify %s: %w", holder, d.explain(err))
	}
	if dead = !there || stat.EphemeralOwner == 0; dead { // of no session, it is a copy of a tree
		d.proven.Store(path, struct{}{}) // ids are not used again
	}
	return dead, nil
}

// checkMadeAgain is called in a tree that a person has made again, and finds out whether that
// was a moment ago. Workers whose nodes were deleted look dead, but may not have noticed yet,
// and have a handler running. They will have stopped when a session timeout is over.
func (d *deaths) checkMadeAgain(ctx context.Context) error {
	_, tree, err := d.session.Exists(ctx, d.tree.meta())
	if err != nil {
		return err
	}
	there, own, err := d.session.Exists(ctx, d.tree.worker(d.id))
	if err != nil || !there {
		return err
	}
	if timeout := d.session.Timeout(); time.Duration(own.Ctime-tree.Mtime)*time.Millisecond < timeout {
		d.from = time.Now().Add(timeout)
	}
	return nil
}
