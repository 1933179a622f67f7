package keeper

import (
	"context"
	"fmt"
	"time"
)

// Dead reports whether a holder was proven dead before.
func (m *Member) Dead(holder string) bool {
	_, dead := m.keeper.dead.Load(m.tree.worker(holder))
	return dead
}

// Verify finds out whether a holder is surely dead. The caller has seen the holder
// in Redis. A text that is no worker's id counts as dead: no worker of that name lives.
// False means alive, or that nothing can be proven yet: the caller asks again.
//
// Our server may be so far behind the others that it does not know a worker yet that has
// joined and taken a batch since. Hence the write before the look. A majority decides on
// the write after all writes before it anywhere, the join included, and from then on
// this session sees no older state, whichever server it asks. A write that is refused,
// because the node was deleted or its ACL changed, is a decision like any other.
func (m *Member) Verify(ctx context.Context, holder string) (dead bool, err error) {
	if holder == m.id || holder == "" {
		return false, fmt.Errorf("verify %q: it is this worker itself, or empty", holder)
	}
	path := m.tree.worker(holder)
	if m.Dead(holder) {
		return true, nil
	}
	if time.Now().Before(m.provesFrom) {
		return false, nil // not known yet: see checkMadeAgain
	}
	if err := m.write(ctx); err != nil && !refused(err) {
		return false, fmt.Errorf("verify %s: %w", holder, m.keeper.cfg.explain(err))
	}
	there, stat, err := m.session.exists(ctx, path)
	if err != nil {
		return false, fmt.Errorf("verify %s: %w", holder, m.keeper.cfg.explain(err))
	}
	if dead = !there || stat.EphemeralOwner == 0; dead { // of no session, it is a copy of a tree
		m.keeper.dead.Store(path, struct{}{}) // ids are not used again
	}
	return dead, nil
}
