package away

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

const (
	// enough is how long a server gives no answer until it is logged as away, and how long
	// one question waits for one.
	enough = time.Second

	// Between two questions the waiting doubles between these.
	firstPause, lastPause = 50 * time.Millisecond, time.Second
)

// Watch looks at servers for a worker, or for a producer.
type Watch struct {
	Log   *Log
	Redis redis.UniversalClient
	Ctx   context.Context   // ends the looking
	Go    func(func()) bool // runs it, unless its owner has ended
}

// Level is the level at which to log that a request about a key failed: Warn, or Debug if it
// has no answer. Then the server is looked at, and that look logs what a person needs to know.
func (w *Watch) Level(key string, err error) zapcore.Level {
	if !cluster.Unanswered(err) {
		return zap.WarnLevel
	}
	w.Doubt(key, err)
	return zap.DebugLevel
}

// Doubt notes how a request to the server of a key ended. If there was no answer, the server
// is looked at, unless that is under way. It returns whether the server was logged as away:
// then the caller need not log the error, too.
func (w *Watch) Doubt(key string, err error) (away bool) {
	if !cluster.Unanswered(err) || w.Ctx.Err() != nil {
		return false
	}
	_, addr, wrong := cluster.MasterFor(w.Ctx, w.Redis, key)
	if wrong != nil { // no server of the Cluster can say who has it
		addr = unknown
	}
	return w.DoubtAt(addr, key, err)
}

// DoubtAt is Doubt for a known server: in a Cluster, another one may have taken its place
// by now.
func (w *Watch) DoubtAt(addr, key string, err error) (away bool) {
	if !cluster.Unanswered(err) || w.Ctx.Err() != nil {
		return false
	}
	if w.Log.begin(addr) && !w.Go(func() { w.look(addr, key) }) {
		w.Log.end(addr, false)
	}
	return w.Log.logged(addr)
}

// look asks until there is an answer.
func (w *Watch) look(addr, key string) {
	begun := time.Now()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		by, err := w.ask(key)
		logged := w.Log.logged(addr)
		switch over := errors.Is(err, redis.ErrClosed); {
		case err == nil:
			w.Log.end(addr, true)
			if logged {
				w.Log.Warn("Redis answers again", w.named(addr, by)...)
			}
			return
		case w.Ctx.Err() != nil, over && !logged: // the client was closed; or its server has left the Cluster
			w.Log.end(addr, false)
			return
		case time.Since(begun) >= w.Log.after && w.Log.note(addr):
			w.Log.Warn("Redis is away", append(w.named(addr, addr), zap.Error(err))...)
		}
		cluster.NoteError(w.Ctx, w.Redis, err)
		wait.Sleep(w.Ctx, pause)
	}
}

// ask asks the server that has the key now. An answer is any that is about the key.
func (w *Watch) ask(key string) (by string, err error) {
	ctx, cancel := context.WithTimeout(w.Ctx, enough)
	defer cancel()
	asked := make(chan string, 1)
	err = wait.For(ctx, func(ctx context.Context) error {
		server, addr, err := cluster.MasterFor(ctx, w.Redis, key)
		if err != nil {
			return err
		}
		asked <- addr
		if one, ok := server.(*redis.Client); ok {
			server = one.WithTimeout(enough)
		}
		return server.ZCard(ctx, key).Err()
	})
	if reply := (redis.Error)(nil); errors.As(err, &reply) && !cluster.NotReady(err) && !cluster.Moved(err) {
		err = nil // also a refusal is one
	}
	select {
	case by = <-asked:
	default:
	}
	return by, err
}

// Servers without an address of their own.
const (
	unknown  = "one of the Cluster"
	sentinel = "the master that Sentinel names"
)

// named are the fields that name a server, and the one that has taken its place.
func (w *Watch) named(addr, by string) []zap.Field {
	if one, ok := w.Redis.(*redis.Client); ok && addr == "" {
		if addr = sentinel; cluster.IsSingle(w.Redis) {
			addr = one.Options().Addr
		}
	}
	fields := []zap.Field{zap.String("server", addr)}
	if by != "" && by != addr {
		fields = append(fields, zap.String("in its place", by))
	}
	return fields
}
