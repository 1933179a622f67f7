package keeper

import (
	"context"
	"errors"
	"time"

	"github.com/go-zookeeper/zk"

	"github.com/slotmq/go-rmq/internal/sharing/keeper/session"
)

// trial is how many beats a worker must have lived to be proven.
const trial = 2

// life is what ZooKeeper knows of a worker's life, by its own clock in ms, and in zxids.
type life struct {
	seen  time.Time // since when the coordinator knows it
	asked time.Time // when it has asked for what follows

	came, born  int64 // its node
	heard, last int64 // what it wrote last, and it writes in each beat; see session.Pulse
	mute        bool  // that node is missing, or we may not read it: nothing is known
	leaves      bool
	logged      bool // it was logged that it waits for a silent worker
}

func (l *life) proven(beat time.Duration) bool {
	return l.mute || l.last-l.born >= trial*beat.Milliseconds()
}

func (l *life) heardSince(w *life) bool { return l.mute || l.heard > w.came }

// readWrite reads when the worker has written last.
func (l *life) readWrite(ctx context.Context, s *session.Session, path string) error {
	there, stat, err := s.Exists(ctx, path)
	if err != nil && !errors.Is(err, zk.ErrNoAuth) { // of a worker that has another password: since 3.9 that is refused
		return err
	}
	if l.mute = err != nil || !there; !l.mute {
		l.heard, l.last = stat.Mzxid, stat.Mtime
	}
	return nil
}
