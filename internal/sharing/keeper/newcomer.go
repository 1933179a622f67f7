package keeper

import (
	"context"
	"slices"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// Newcomers: workers that have no slots of a topic, while others have. A worker that
// crashes soon after each start has another id each time, and for a session timeout each of
// the dead is still listed. If each of them got a share, they would keep most of the slots
// from the living.
//
// So a newcomer has to live for some beats first. It also gets nothing while a worker with
// slots has not written since it came: that one may be the newcomer itself, before its
// crash. Zxids count all writes in ZooKeeper, so no clock decides that. When a worker with
// slots has vanished, they go to workers that have some; newcomers get theirs afterwards.
// Otherwise the same slots would go from one dead worker to the next.
//
// If no worker with slots has proven itself and is heard, newcomers get slots at once: a
// fleet starts, or comes back after an outage.

// enough is after how many session timeouts a newcomer gets slots in any case: its life
// before a crash has ended by then, even if the servers end sessions late.
const enough = 2

// sides are the workers of a topic.
type sides struct {
	holders, newcomers []weighted
	vanished           bool // a worker with slots is gone
}

func (f *fleet) sides(topic string, owners []string) (s sides) {
	has := make(map[string]bool)
	for _, owner := range owners {
		has[owner] = true
	}
	delete(has, "")
	for _, m := range f.of(topic) {
		if has[m.id] {
			s.holders = append(s.holders, m)
		} else {
			s.newcomers = append(s.newcomers, m)
		}
	}
	for id := range has {
		s.vanished = s.vanished || f.lives[id] == nil
	}
	return s
}

// readWrites updates what newcomers depend on, and reports whether there are any. It
// reads only what is missing.
func (f *fleet) readWrites(ctx context.Context, s *session.Session, t tree, topics map[string]*shares, now time.Time, log *zap.Logger) (any bool, err error) {
	r := &readings{fleet: f, session: s, tree: t, now: now, log: log}
	f.newest, f.leavers = 0, nil
	for id, l := range f.lives {
		if l.leaves {
			f.leavers = append(f.leavers, id)
		}
		any = any || r.left(l) > 0
	}
	if !any {
		return false, nil // no worker has come for long
	}
	any = false
	for topic := range f.topics() {
		is := f.sides(topic, topics[topic].last.owners)
		before := slices.Clone(f.leavers)
		for _, h := range is.holders {
			before = append(before, h.id)
		}
		for _, m := range is.newcomers {
			if len(is.holders) > 0 && r.left(f.lives[m.id]) > 0 {
				any = true
				r.compare(ctx, m.id, before)
			}
		}
	}
	for _, l := range f.lives {
		f.newest = max(f.newest, l.last)
	}
	return any, r.err
}

// readings are those of the workers' writes at one time, until there is an error.
type readings struct {
	*fleet
	session *session.Session
	tree    tree
	now     time.Time
	log     *zap.Logger
	err     error
}

// left is after how long a worker gets slots in any case.
func (r *readings) left(w *life) time.Duration {
	return enough*r.session.Timeout() - r.now.Sub(w.seen)
}

// compare reads what a newcomer has written, and those workers that it may have to wait for.
func (r *readings) compare(ctx context.Context, newcomer string, before []string) {
	w, beat := r.lives[newcomer], r.session.Timeout()/session.Beats
	r.read(ctx, newcomer, beat)
	for _, id := range before {
		l := r.lives[id]
		if !l.heardSince(w) && (w.proven(beat) || !l.proven(beat)) {
			r.read(ctx, id, beat)
		}
		if r.err == nil && !w.logged && w.proven(beat) && !l.heardSince(w) {
			w.logged = true
			r.log.Info("a worker gets its slots later: another one is silent", zap.String("worker", newcomer),
				zap.String("silent", id), zap.Duration("at most", r.left(w)))
		}
	}
}

func (r *readings) read(ctx context.Context, id string, beat time.Duration) {
	if l := r.lives[id]; r.err == nil && r.now.Sub(l.asked) >= beat/4 { // they may come by the hundred
		l.asked, r.err = r.now, l.readWrite(ctx, r.session, r.tree.owned(id))
	}
}

// admitted returns the workers that get slots of a topic, as far as is known.
func (f *fleet) admitted(topic string, owners []string, timeout time.Duration, now time.Time) []weighted {
	is := f.sides(topic, owners)
	switch {
	case len(is.holders) == 0:
		return is.newcomers
	case is.vanished:
		return is.holders
	}
	members := is.holders
	for _, m := range is.newcomers {
		if f.admits(f.lives[m.id], is.holders, timeout, now) {
			members = append(members, m)
		}
	}
	return members
}

// admits reports whether a newcomer gets slots beside the workers that have some.
func (f *fleet) admits(w *life, holders []weighted, timeout time.Duration, now time.Time) bool {
	beat := timeout / session.Beats
	proven, heard, silent := false, false, false
	for _, h := range holders {
		l := f.lives[h.id]
		proven = proven || l.proven(beat)
		heard = heard || l.proven(beat) && l.heardSince(w)
		silent = silent || !l.heardSince(w)
	}
	for _, id := range f.leavers {
		silent = silent || !f.lives[id].heardSince(w)
	}
	switch {
	case now.Sub(w.seen) >= enough*timeout:
		return true
	case !w.proven(beat):
		return !proven
	case !w.mute && f.newest-w.last >= trial*beat.Milliseconds():
		return false // of several that died one after the other, all but the last one
	}
	return !silent || !heard
}
