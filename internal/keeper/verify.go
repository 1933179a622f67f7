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
	there, _, err := m.session.exists(ctx, path)
	if err != nil {
		return false, fmt.Errorf("verify %s: %w", holder, err)
	}
	if !there {
		m.keeper.dead.Store(path, struct{}{}) // ids are not used again
	}
	return !there, nil
}

// barrier writes to the worker's own node.
func (m *Member) barrier(ctx context.Context) error {
	path := m.tree.owned(m.id)
	_, err := m.session.set(ctx, path, m.holdings.encode(), -1)
	if errors.Is(err, zk.ErrNoNode) { // somebody has deleted it
		if _, err = m.session.claim(ctx, path, nil); err == nil {
			_, err = m.session.set(ctx, path, m.holdings.encode(), -1)
		}
	}
	return err
}
