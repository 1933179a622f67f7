package away

import (
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// sameLoss is how long after it was logged that a server has forgotten what it knew its slots may still show that
// one loss, and no other.
const sameLoss = time.Minute

// Fence notes what the fence of a slot was, and what it is by the server of its key. It only grows; if it is less, the
// server has forgotten what it knew. That is logged once for a server, since its other slots show it, too, each when it
// is worked at. It returns whether it is less.
func (w *Watch) Fence(key string, was, is int64) (forgotten bool) {
	if is >= was {
		return false
	}
	_, addr, err := cluster.MasterFor(w.Ctx, w.Redis, key)
	if err != nil {
		addr = unknown
	}
	if !w.Log.forgets(addr, time.UnixMicro(was), time.Now()) {
		return true
	}
	fields := append(w.named(addr, addr), zap.String("by", key))
	if is > 0 {
		fields = append(fields, zap.Time("remembers", time.UnixMicro(is)))
	}
	w.Log.Warn("Redis has forgotten what it knew: it came back empty, or older", fields...)
	return true
}

// forgets reports whether it is to be logged that a server has forgotten what was at a time, or was logged before.
func (l *Log) forgets(addr string, was, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, logged := l.forgot[addr]; logged && (now.Sub(last) < sameLoss || was.Sub(last) < sameLoss) {
		return false
	}
	l.forgot[addr] = now
	return true
}
