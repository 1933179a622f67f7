package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/server/console"
	"github.com/slotmq/go-rmq/slots"
)

var consoleService = frame.Command{
	Use:   "console",
	Short: "Serve a page for people: is anything wrong, and where is a message",
	Long: `Serve a page for people, until Ctrl-C: is anything wrong, where is a message and
why has it not run, what is dead and why, who has which slot. It is described in
docs/CONSOLE.md.

It only looks; with --act people may requeue, delete, cancel, reschedule, pause
and limit. Each change is a line in the log.

Beyond this machine it listens only with --tokens, by which people sign in
(rmqd token makes them), or with --user-header, if a proxy in front signs them
in and puts their name into that header. Let only the proxy reach it then.

With several consoles, --title says on each page which one it is. Without
--title and --tokens that is where Redis is.`,
	Example: `  rmqd console
  rmqd console --act --title production
  rmqd console --listen :8081 --tokens tokens.json --hide-contents
  rmqd console --listen :8081 --user-header X-Forwarded-User`,
	GoFlags: func(flags *flag.FlagSet) frame.Step {
		s := &showing{endpoint: addEndpointFlags(flags, "127.0.0.1:8081")}
		flags.BoolVar(&s.act, "act", false, "let people change something")
		flags.BoolVar(&s.hide, "hide-contents", false, "show no contents of messages")
		flags.Var(&s.header, "user-header", "`header` in which a proxy puts the name of who asks")
		flags.StringVar(&s.title, "title", "", "`text` on each page, such as production; where Redis is, if there are no --tokens")
		s.log = addLogFlag(flags)
		return s.run
	},
}

// showing is one call of rmqd console.
type showing struct {
	*endpoint
	log       *logFlag
	act, hide bool
	title     string
}

func (s *showing) run(ctx context.Context, call *frame.Call) error {
	s.console, s.may = "/", mayDo(s.act)
	log := s.log.logger(call.Errs)
	listener, err := s.open(ctx, log)
	if err != nil {
		return err
	}
	defer s.shut()
	defer listener.Close() // unless it was served
	c, err := s.build(ctx, call, log)
	if err != nil {
		return byFlag(err)
	}
	server := s.serverOf(c, log)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	s.greet(call, "console at", s.console, s.may, listener)
	select {
	case err = <-failed:
	case <-ctx.Done():
		fmt.Fprintln(call.Errs, "ending: requests that are under way have 20 s")
	}
	c.Close()
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), draining)
	defer cancel()
	return errors.Join(err, server.Shutdown(within))
}

// build connects to what the console shows.
func (s *showing) build(ctx context.Context, call *frame.Call, log *zap.Logger) (_ *console.Console, err error) {
	cfg := console.Config{Namespace: call.Namespace(), Tokens: s.tokens, Logger: log, Act: s.act, HideContents: s.hide}
	if s.header != "" {
		cfg.Who = func(r *http.Request) string { return r.Header.Get(string(s.header)) }
	}
	if call.ZooKeeper().Servers != nil {
		cfg.Slots = slots.ZooKeeper(call.ZooKeeper())
	}
	if cfg.Journal, err = call.Journal(ctx); err != nil {
		return nil, err
	}
	if cfg.Redis, err = call.Redis(ctx); err != nil {
		return nil, err
	}
	cfg.Title = s.titleOf(s.title, call.RedisAt())
	return console.New(cfg)
}
