package recovery

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

const (
	tickEvery  = time.Second
	leadLeft   = 5 * time.Second // of the lead, or it is extended
	adoptEvery = 24 * time.Hour
)

// Run reconciles again and again until ctx ends: from the journal to Redis each time, and from Redis to the
// journal once a day, when a process has ended without writing its last rows, when there is a gap, and
// when Redis may have forgotten something. Each second it looks for that. Of all that run with one database
// one works, and another one goes on when it ends.
//
// It returns an error only for what it was told.
func (r *Recovery) Run(ctx context.Context, o Reconcile) error {
	o, err := o.full()
	if err != nil {
		return r.reconcileError(err)
	}
	x := &running{Recovery: r, o: o, lead: r.journal.Lead(), soon: make(chan struct{}, 1)}
	var group sync.WaitGroup
	group.Go(func() { x.watch(ctx) })
	x.again(ctx)
	group.Wait()
	x.lead.Release()
	return nil
}

// running is one Run.
type running struct {
	*Recovery
	o    Reconcile
	lead ledger.Lead
	soon chan struct{} // there is a reason to compare now

	until atomic.Int64 // ms: until then this one leads
	doubt time.Time    // when Redis was last noticed to have forgotten something; of watch
}

// watch takes the lead, and looks for what Redis may have forgotten.
func (x *running) watch(ctx context.Context) {
	said := saying{log: x.log, what: "the journal is not compared with Redis"}
	for {
		if err := x.second(ctx); ctx.Err() == nil {
			said.say(err)
		}
		if !wait.Sleep(ctx, tickEvery) {
			return
		}
	}
}

func (x *running) second(ctx context.Context) error {
	first := !x.leads()
	if time.Until(time.UnixMilli(x.until.Load())) < leadLeft {
		until, err := x.lead.Hold(ctx)
		if err != nil || until.IsZero() {
			x.until.Store(0)
			return err
		}
		x.until.Store(until.UnixMilli())
	}
	m, err := x.round(ctx)
	if err != nil {
		return err
	}
	noticed := m.Forgot.Noticed
	news := !noticed.IsZero() && !noticed.Equal(x.doubt)
	x.doubt = noticed
	if news {
		log := x.log
		if !m.Forgot.Since.IsZero() {
			log = log.With(zap.Time("since", m.Forgot.Since))
		}
		log.Warn("Redis may have forgotten something: the journal is compared with it")
	}
	if first || news {
		select {
		case x.soon <- struct{}{}:
		default:
		}
	}
	return nil
}

// leads reports whether this Run is the one that works.
func (x *running) leads() bool { return time.Now().UnixMilli() < x.until.Load() }

// again compares, and rests.
func (x *running) again(ctx context.Context) {
	said := saying{log: x.log, what: "the journal could not be compared with Redis"}
	for {
		if x.leads() {
			if err := x.once(ctx); ctx.Err() == nil {
				said.say(err)
			}
		}
		rest := time.NewTimer(x.o.Every)
		select {
		case <-rest.C:
		case <-x.soon:
		case <-ctx.Done():
		}
		rest.Stop()
		if ctx.Err() != nil {
			return
		}
	}
}

func (x *running) once(ctx context.Context) error {
	m, err := x.journal.Memory(ctx)
	if err != nil {
		return err
	}
	both := time.Since(m.Adopted) >= adoptEvery || m.Adopted.Before(m.Forgot.Noticed)
	if !both {
		if both, err = x.journal.Overlooked(ctx, m); err != nil {
			return err
		}
	}
	found, err := x.compare(ctx, x.o, both)
	if found.Gone+found.Dead+found.Adopted+found.Missing > 0 {
		x.log.Info("the journal was compared with Redis", zap.Stringer("found", found))
	}
	return x.reconcileError(err)
}

// saying logs the first of a row of errors, and when they are over.
type saying struct {
	log  *zap.Logger
	what string
	bad  bool
}

func (s *saying) say(err error) {
	switch {
	case err != nil && !s.bad:
		s.log.Warn(s.what, zap.Error(err))
	case err == nil && s.bad:
		s.log.Info("no more: " + s.what)
	}
	s.bad = err != nil
}
