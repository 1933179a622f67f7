package consumer

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// blocked is a log that blocks, like a full pipe, from when it is shut until the test
// ends.
type blocked struct {
	shut, end chan struct{}
}

func blockedLog(t testing.TB) (*zap.Logger, *blocked) {
	b := &blocked{shut: make(chan struct{}), end: make(chan struct{})}
	t.Cleanup(func() { close(b.end) })
	core := zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), b, zap.DebugLevel)
	return zap.New(core), b
}

func (b *blocked) Write(p []byte) (int, error) {
	select {
	case <-b.shut:
		<-b.end
	default:
	}
	return len(p), nil
}

func (b *blocked) Sync() error { return nil }

// The log of a worker blocks, and its network goes. Its handler is cancelled before
// another worker handles the message, after its timeout, too, and Close keeps to its
// context.
func TestLogThatBlocks(t *testing.T) {
	t.Parallel()
	t.Run("lease", func(t *testing.T) {
		t.Parallel()
		server := servertest.SharedRedis(t)
		proxy, rdb := servertest.NewProxy(t, server.Addr()), server.Client(t)
		topic := topicOf(t, message.KindFixedTime, 1)
		n := newNotes()
		log, logged := blockedLog(t)
		begun, cancelled := make(chan struct{}), make(chan error, 1)
		c, err := New(proxy.Client(t, impatient), Config{Lease: 3 * time.Second, Logger: log, SafetyLook: time.Hour})
		must.Do(t, err)
		must.Do(t, c.Listen(topic, n.around(func(ctx context.Context, d *Delivery) error {
			close(begun)
			<-ctx.Done()
			cancelled <- context.Cause(ctx)
			return ctx.Err()
		}), ListenOptions{}))
		start(t, c)
		newSender(t, rdb, topic).send(t, "m")
		await.Signal(t, "the message is in its handler", begun)
		close(logged.shut)
		proxy.Freeze()
		work(t, rdb, Config{Lease: 3 * time.Second, Backoff: verdict.Schedule(time.Millisecond)}, topic, n.done())
		n.await(t, "the other worker has handled it", func() bool { return len(n.attempts["m"]) == 2 })
		if cause := await.Signal(t, "the first handler is cancelled", cancelled); !errors.Is(cause, verdict.ErrLeaseLost) {
			t.Errorf("the handler was cancelled by %v", cause)
		}
		n.mu.Lock()
		if n.overlaps > 0 {
			t.Errorf("%d times two handlers at one slot", n.overlaps)
		}
		n.mu.Unlock()
		proxy.Thaw()
		mustClose(t, c)
	})
	t.Run("timeout", func(t *testing.T) {
		t.Parallel()
		rdb, topic := shared(t), topicOf(t, message.KindFixedTime, 1)
		log, logged := blockedLog(t)
		cancelled, release := make(chan error, 1), make(chan struct{})
		c, err := New(rdb, Config{Timeout: 50 * time.Millisecond, hung: time.Hour, Logger: log, SafetyLook: time.Hour})
		must.Do(t, err)
		must.Do(t, c.Listen(topic, ListenerFunc(func(ctx context.Context, d *Delivery) error {
			<-ctx.Done()
			cancelled <- context.Cause(ctx)
			<-release
			return nil
		}), ListenOptions{}))
		start(t, c)
		close(logged.shut)
		newSender(t, rdb, topic).send(t, "m")
		if cause := await.Signal(t, "the handler is cancelled", cancelled); !errors.Is(cause, verdict.ErrTimeout) {
			t.Errorf("the handler was cancelled by %v", cause)
		}
		close(release)
		mustClose(t, c)
		wantEmpty(t, rdb, topic)
	})
}

// mustClose closes a worker, which must return although its log blocks.
func mustClose(t *testing.T, c *Consumer) {
	t.Helper()
	within, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	closed := make(chan error, 1)
	go func() { closed <- c.Close(within) }()
	await.Signal(t, "Close does not wait for the log", closed) // with an error, if Redis does not answer
}
