package away

import (
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// sameLoss: what a server's slots show for so long after a logged loss still belongs to that loss.
const sameLoss = time.Minute

// Fence compares the fence that a slot had with the one that its server has now. A fence only grows; if it is less, the
// server has forgotten what it knew. That is logged once for a server: its other slots show the same loss when it is
// their turn. It returns whether the fence is less.
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

// forgets reports whether this loss is to be logged, or belongs to one that was logged before.
func (l *Log) forgets(addr string, was, now time.Time) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if last, logged := l.forgot[addr]; logged && (now.Sub(last) < sameLoss || was.Sub(last) < sameLoss) {
		return false
	}
	l.forgot[addr] = now
	return true
}
