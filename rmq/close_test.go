package rmq

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/slots"
)

// closeBound is by how much Close may outlive its context, as its comment says.
const closeBound = 4 * time.Second

// wall is a log that blocks for as long as it stands.
type wall struct{ gone <-chan struct{} }

func (w wall) Write(b []byte) (int, error) {
	<-w.gone
	return len(b), nil
}

// Close keeps to its context, however much of what it needs is away or hangs: Redis with
// turns and sends under way, handlers that ignore their context, ZooKeeper, the log. Its
// error says what could not be done.
func TestCloseKeepsToItsContext(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ redis, handler, zoo, log bool }{
		"redis":                      {redis: true},
		"handler":                    {handler: true},
		"redis by zoo":               {redis: true, zoo: true},
		"zoo":                        {zoo: true},
		"zoo and handler":            {zoo: true, handler: true},
		"all of it at the same time": {true, true, true, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := servertest.Redis(t)
			cfg := Config{URL: "redis://" + server.Addr(), SafetyLook: 50 * time.Millisecond, Timeout: time.Hour}
			var zoo *servertest.ZooKeeperServer
			if c.zoo {
				zoo = servertest.ZooKeeper(t)
				cfg.Slots = slots.ZooKeeper(slots.ZooKeeperConfig{Servers: zoo.Servers()})
			}
			free := make(chan struct{})
			t.Cleanup(sync.OnceFunc(func() { close(free) }))
			if c.log {
				cfg.Logger = zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(zap.NewProductionEncoderConfig()), zapcore.AddSync(io.Writer(wall{free})), zap.DebugLevel))
			}
			client, err := New(cfg)
			must.Do(t, err)
			begun := make(chan struct{}, 100)
			topic := Topic{Name: "jobs", Kind: KindPriority, Slots: 8}
			must.Do(t, client.Listen(topic, ListenerFunc(func(context.Context, *Delivery) error {
				begun <- struct{}{}
				if c.handler {
					<-free
				}
				return nil
			}), ListenOptions{}))
			must.Do(t, client.Start(context.Background()))
			for i := range 8 {
				_, err := client.Send(context.Background(), topic, Priority{Content: fmt.Sprint(i), Priority: 100})
				must.Do(t, err)
			}
			await.Signal(t, "a handler runs", begun)
			var sends sync.WaitGroup
			if c.redis {
				server.Pause()
				for i := range 8 { // these wait for an answer
					sends.Go(func() {
						_, _ = client.Send(context.Background(), topic, Priority{Content: fmt.Sprint("late ", i), Priority: 100})
					})
				}
			}
			if c.zoo {
				zoo.Pause()
			}
			ctx, cancel := context.WithTimeout(context.Background(), 300*time.Millisecond)
			defer cancel()
			closed := make(chan error, 1)
			var took time.Duration
			go func() {
				err := client.Close(ctx)
				<-ctx.Done()
				deadline, _ := ctx.Deadline()
				took = time.Since(deadline)
				closed <- err
			}()
			err = await.Signal(t, "Close ends while all of it is stuck still", closed)
			night.AtMost(t, fmt.Sprintf("Close, which says %v, beyond its context,", err), took, 2*closeBound)
			if c.handler && (err == nil || !strings.Contains(err.Error(), "handlers did not return")) {
				t.Errorf("the error is %v", err)
			}
			sends.Wait() // they have an error, and do not wait any longer
			server.Resume()
			if c.zoo {
				zoo.Resume()
			}
		})
	}
}
