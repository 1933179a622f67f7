package keeper

import (
	"context"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// Join opens a session, compares the topics' definitions, registers the worker,
// and returns when Own was called once for every topic that has an assignment.
// A difference of definitions is ErrConflict, at the first time.
func (k *Keeper) Join(ctx context.Context, w Worker) (*Member, error) {
	if err := k.Validate(w.Namespace); err != nil {
		return nil, err
	}
	s, err := session.Open(ctx, k.cfg.session())
	if err != nil {
		return nil, err
	}
	m := newMember(k, w, s)
	ctx, cancel := s.Bound(ctx)
	defer cancel()
	if err = session.Retry(ctx, func() error { return m.register(ctx) }); err == nil {
		err = m.start(ctx)
	}
	if err != nil {
		m.CloseIn(ctx)
		return nil, k.cfg.explain(err)
	}
	return m, nil
}
