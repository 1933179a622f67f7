package keeper

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// Dead reports whether a holder was proven dead before.
func (m *Member) Dead(holder string) bool {
	_, dead := m.keeper.dead.Load(m.tree.worker(holder))
	return dead
}

// Verify finds out whether a holder is surely dead. The caller has seen the holder
// in Redis. Whatever is no worker's id counts as dead: nobody of that name lives.
//
// The server at hand may be behind the others: so far that it does not know yet of a
// worker that joined and took a batch since. Hence the write before the look. It is
// carried out after all that went before it anywhere, the join included, and from
// then on this session sees no older state, whichever server it asks.
func (m *Member) Verify(ctx context.Context, holder string) (dead bool, err error) {
	if holder == m.id || holder == "" {
		return false, fmt.Errorf("verify %q: it is this worker itself, or nobody", holder)
	}
	path := m.tree.worker(holder)
	if m.Dead(holder) {
		return true, nil
	}
	if err := m.barrier(ctx); err != nil {
		return false, fmt.Errorf("verify %s: %w", holder, err)
	}
	there, stat, err := m.session.exists(ctx, path)
	if err != nil {
		return false, fmt.Errorf("verify %s: %w", holder, err)
	}
	if dead = !there || stat.EphemeralOwner == 0; dead { // of no session, it is a copy of a tree
		m.keeper.dead.Store(path, struct{}{}) // ids are not used again
	}
	return dead, nil
}

// barrier writes to the worker's own node.
func (m *Member) barrier(ctx context.Context) error {
	path := m.tree.owned(m.id)
	_, err := m.session.set(ctx, path, m.holdings.encode(), -1)
	if !errors.Is(err, zk.ErrNoNode) {
		return err
	}
	// Somebody has deleted it, perhaps with all others.
	if err = m.session.ensure(ctx, m.tree.owners(), nil); err == nil {
		_, err = m.session.claim(ctx, path, nil)
	}
	if err == nil {
		_, err = m.session.set(ctx, path, m.holdings.encode(), -1)
	}
	return err
}
