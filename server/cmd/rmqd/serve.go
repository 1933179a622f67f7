package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/console"
	"github.com/slotmq/go-rmq/server/gateway"
	"github.com/slotmq/go-rmq/slots"
)

var serveService = frame.Command{
	Use:   "serve",
	Short: "Serve the topics over HTTP, for programs in any language",
	Long: `Serve the topics over HTTP, until Ctrl-C: programs in any language send, take and
finish messages, and ask for them. What may be asked is at /openapi.json, and
described in docs/HTTP.md.

Run any number behind a load balancer: what one has given out another one may
finish. Each may be ended at any time.

Beyond this machine it listens only with --tokens: rmqd token makes them. The
file is read again on SIGHUP. For TLS give --tls-cert and --tls-key, or let a
proxy do it.

With --dev it needs no Redis: it has one in its memory, and forgets everything
when it ends.

With --console it serves the pages of rmqd console, too, for people. They only
look, unless you give --console-act.`,
	Example: `  rmqd serve
  rmqd serve --dev
  rmqd serve --listen :8080 --tokens tokens.json
  rmqd serve --listen :8443 --tokens tokens.json --tls-cert cert.pem --tls-key key.pem
  rmqd serve --console --console-act`,
	GoFlags: func(flags *flag.FlagSet) frame.Step {
		s := &serving{}
		s.endpoint = addEndpointFlags(flags, "127.0.0.1:8080")
		flags.IntVar(&s.gateway.MaxBody, "max-body", 1<<20, "longest body in `bytes`")
		flags.IntVar(&s.gateway.MaxContent, "max-content", 256<<10, "longest content of a message in `bytes`")
		flags.IntVar(&s.gateway.MaxWaiting, "max-waiting", 1000, "how many `takes` may wait at a time")
		flags.IntVar(&s.gateway.MaxWaitingPerSlot, "max-waiting-per-slot", 0, "how many `messages` may wait in one slot before sends are refused; 0: any number")
		flags.Float64Var(&s.gateway.RequestsPerSecond, "requests-per-second", 0, "of each token, as a `number`; 0: as many as it likes")
		flags.BoolVar(&s.gateway.SDMQ, "sdmq", false, "serve the calls of sdmq, too: /push, /delete, /reStore, /get, /finish")
		flags.BoolVar(&s.dev, "dev", false, "take a Redis in memory, which forgets everything in the end")
		flags.BoolVar(&s.withConsole, "console", false, "serve the console for people, too, at /console/")
		flags.BoolVar(&s.act, "console-act", false, "let people change something by the console")
		flags.StringVar(&s.title, "console-title", "", "`text` on each page of the console, such as production; where Redis is, if there are no --tokens")
		flags.BoolVar(&s.hide, "hide-contents", false, "show no contents of messages in the console")
		s.log = addLogFlag(flags)
		return s.run
	},
}

// serving is one call of rmqd serve.
type serving struct {
	*endpoint
	log                    *logFlag
	gateway                gateway.Config
	withConsole, act, hide bool
	dev                    bool
	title                  string // of the console
}

// draining is how long requests that are under way may take when the service ends.
const draining = 20 * time.Second

func (s *serving) run(ctx context.Context, call *frame.Call) error {
	s.may = mayDo(true)
	switch {
	case s.withConsole:
		s.console = "/console/"
	case s.act || s.hide || s.title != "":
		return frame.Misused("--console-act, --console-title and --hide-contents are about the console: give --console, too")
	}
	log := s.log.logger(call.Errs)
	listener, err := s.endpoint.open(ctx, log)
	if err != nil {
		return err
	}
	defer s.shut()
	defer listener.Close() // unless it was served
	if s.dev {
		end, err := s.ownRedis(call)
		if err != nil {
			return err
		}
		defer end()
	}
	if err := s.connect(ctx, call, log); err != nil {
		return byFlag(err)
	}
	g, err := gateway.New(s.gateway)
	if err != nil {
		return byFlag(err)
	}
	all := http.NewServeMux()
	all.Handle("/", g)
	if s.withConsole {
		c, err := s.newConsole(call)
		if err != nil {
			return errors.Join(byFlag(err), g.Close(ctx))
		}
		defer c.Close()
		all.Handle(s.console, c)
		context.AfterFunc(ctx, c.Close) // its streams would be waited for
	}
	server := s.serverOf(all, log)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	s.greet(call, "serving", "", s.may, listener)
	if s.withConsole {
		s.greet(call, "console at", s.console, mayDo(s.act), listener)
	}
	select {
	case err = <-failed:
	case <-ctx.Done():
		fmt.Fprintln(call.Errs, "ending: requests that are under way have 20 s")
	}
	return errors.Join(err, end(context.WithoutCancel(ctx), server, g, draining))
}

// closing is how long the gateway may take after the requests. It gets a time of its own, since the requests may have
// used all of theirs.
const closing = 4 * time.Second

// end waits for requests that are under way, and cuts off those that take longer than they may.
func end(ctx context.Context, server *http.Server, g *gateway.Gateway, draining time.Duration) error {
	g.Drain()
	within, cancel := context.WithTimeout(ctx, draining)
	defer cancel()
	err := server.Shutdown(within)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.Join(frame.Failed("requests were cut off that took longer than %v", draining), server.Close())
	}
	within, cancel = context.WithTimeout(ctx, closing)
	defer cancel()
	return errors.Join(err, g.Close(within))
}

// byFlag names the flag where an error names the field of a Config, whichever New refused it.
func byFlag(err error) error {
	var invalid *message.InvalidError
	flags := map[string]string{
		"Config.MaxBody": "--max-body", "Config.MaxContent": "--max-content", "Config.MaxWaiting": "--max-waiting", "Config.MaxWaitingPerSlot": "--max-waiting-per-slot", "Config.RequestsPerSecond": "--requests-per-second",
		"Namespace": "--namespace or RMQ_NAMESPACE", "Config.Namespace": "--namespace or RMQ_NAMESPACE",
		"ZooKeeperConfig.Servers": "--zk or RMQ_ZK", "ZooKeeperConfig.Root": "--zk-root or RMQ_ZK_ROOT", "ZooKeeperConfig.Auth": "--zk-auth or RMQ_ZK_AUTH",
	}
	if errors.As(err, &invalid) && flags[invalid.Field] != "" {
		limit := strings.NewReplacer("ZooKeeperConfig.Root", "--zk-root", "into Root", "into --zk-root").Replace(invalid.Limit)
		return &message.InvalidError{Field: flags[invalid.Field], Value: invalid.Value, Limit: limit}
	}
	return err
}

// ownRedis makes everything use a Redis that ends with the program.
func (s *serving) ownRedis(call *frame.Call) (end func(), err error) {
	url, end, err := inMemory()
	if err != nil {
		return nil, err
	}
	if flag := call.StandAlone(url); flag != "" {
		end()
		return nil, frame.Misused("--dev has a Redis of its own, and no journal: leave out %s", flag)
	}
	fmt.Fprintln(call.Errs, "Redis is in memory, inside this program, and forgets everything when it ends: --dev")
	return end, nil
}

// connect connects to what the gateway needs.
func (s *serving) connect(ctx context.Context, call *frame.Call, log *zap.Logger) (err error) {
	s.gateway.Logger, s.gateway.Namespace, s.gateway.Tokens = log, call.Namespace(), s.tokens
	if call.ZooKeeper().Servers != nil {
		s.gateway.Slots = slots.ZooKeeper(call.ZooKeeper())
	}
	if s.gateway.Journal, err = call.Journal(ctx); err != nil {
		return err
	}
	s.gateway.Redis, err = call.Redis(ctx)
	return err
}

func (s *serving) newConsole(call *frame.Call) (*console.Console, error) {
	g := s.gateway
	return console.New(console.Config{Redis: g.Redis, Namespace: g.Namespace, Journal: g.Journal, Slots: g.Slots, Tokens: g.Tokens, Logger: g.Logger,
		Act: s.act, HideContents: s.hide, Title: s.titleOf(s.title, call.RedisAt())})
}
