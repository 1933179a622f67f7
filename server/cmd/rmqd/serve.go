package main

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/commands"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/gateway"
	"github.com/slotmq/go-rmq/server/tokens"
	"github.com/slotmq/go-rmq/slots"
)

var serveService = commands.Service{
	Use:   "serve",
	Short: "Serve the topics over HTTP, for programs in any language",
	Long: `Serve the topics over HTTP, until Ctrl-C: programs in any language send, take and
finish messages, and ask for them. What may be asked is at /openapi.json, and
described in docs/HTTP.md.

Run any number behind a load balancer: what one has given out another one may
finish. Each may be ended at any time.

Beyond this machine it listens only with --tokens: rmqd token makes them. The
file is read again on SIGHUP. For TLS give --tls-cert and --tls-key, or let a
proxy do it.`,
	Example: `  rmqd serve
  rmqd serve --listen :8080 --tokens tokens.json
  rmqd serve --listen :8443 --tokens tokens.json --tls-cert cert.pem --tls-key key.pem`,
	Flags: func(flags *flag.FlagSet) func(context.Context, *commands.Setup, []string) error {
		s := &serving{}
		flags.StringVar(&s.listen, "listen", "127.0.0.1:8080", "`host:port` to listen at; no host: all addresses of this machine")
		flags.StringVar(&s.tokens, "tokens", "", "`file` that says who may do what")
		flags.StringVar(&s.cert, "tls-cert", "", "`file` of the certificate, with those between it and the root")
		flags.StringVar(&s.key, "tls-key", "", "`file` of its key")
		flags.IntVar(&s.gateway.MaxBody, "max-body", 1<<20, "longest body in `bytes`")
		flags.IntVar(&s.gateway.MaxWaiting, "max-waiting", 1000, "how many `takes` may wait at a time")
		flags.IntVar(&s.gateway.MaxWaitingPerSlot, "max-waiting-per-slot", 0, "how many `messages` may wait in one slot before sends are refused; 0: any number")
		flags.Float64Var(&s.gateway.RequestsPerSecond, "requests-per-second", 0, "of each token, as a `number`; 0: as many as it likes")
		flags.BoolVar(&s.gateway.SDMQ, "sdmq", false, "serve the calls of sdmq, too: /push, /delete, /reStore, /get, /finish")
		s.log = addLogFlag(flags)
		return s.run
	},
}

// serving is one call of rmqd serve.
type serving struct {
	listen, tokens, cert, key string
	log                       *logFlag
	gateway                   gateway.Config
}

// draining is how long requests that are under way may take when the service ends.
const draining = 20 * time.Second

func (s *serving) run(ctx context.Context, setup *commands.Setup, _ []string) error {
	if (s.cert == "") != (s.key == "") {
		return commands.Misused("give both --tls-cert and --tls-key, or neither of them")
	}
	log := s.log.logger(setup.Errs)
	if err := s.readTokens(); err != nil {
		return err
	}
	defer s.rereadOnHangup(log)() // from now on SIGHUP does not end the process
	listener, err := s.bind(ctx)
	if err != nil {
		return err
	}
	defer listener.Close() // unless it was served
	if err := s.open(ctx, setup, log); err != nil {
		return err
	}
	g, err := gateway.New(s.gateway)
	if err != nil {
		return byFlag(err)
	}
	server := serverOf(g, log)
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }()
	s.greet(setup, listener)
	select {
	case err = <-failed:
	case <-ctx.Done():
		fmt.Fprintln(setup.Errs, "ending: requests that are under way have 20 s")
	}
	return errors.Join(err, end(context.WithoutCancel(ctx), server, g, draining))
}

// closing is how long the gateway may take behind the requests. It does not have what is left of their time: that may be nothing.
const closing = 4 * time.Second

// end waits for requests that are under way, and cuts off those that take longer than they may.
func end(ctx context.Context, server *http.Server, g *gateway.Gateway, draining time.Duration) error {
	g.Drain()
	within, cancel := context.WithTimeout(ctx, draining)
	defer cancel()
	err := server.Shutdown(within)
	if errors.Is(err, context.DeadlineExceeded) {
		err = errors.Join(commands.Failed("requests were cut off that took longer than %v", draining), server.Close())
	}
	within, cancel = context.WithTimeout(ctx, closing)
	defer cancel()
	return errors.Join(err, g.Close(within))
}

// byFlag names the flag where an error names the field of the gateway's Config that it is for.
func byFlag(err error) error {
	var invalid *message.InvalidError
	flags := map[string]string{"Config.MaxBody": "--max-body", "Config.MaxWaiting": "--max-waiting", "Config.MaxWaitingPerSlot": "--max-waiting-per-slot", "Config.RequestsPerSecond": "--requests-per-second"}
	if errors.As(err, &invalid) && flags[invalid.Field] != "" {
		return &message.InvalidError{Field: flags[invalid.Field], Value: invalid.Value, Limit: invalid.Limit}
	}
	return err
}

// open connects to what the gateway needs.
func (s *serving) open(ctx context.Context, setup *commands.Setup, log *zap.Logger) (err error) {
	s.gateway.Logger, s.gateway.Namespace = log, setup.Namespace
	if setup.ZooKeeper.Servers != nil {
		s.gateway.Slots = slots.ZooKeeper(setup.ZooKeeper)
	}
	if s.gateway.Journal, err = setup.Journal(ctx); err != nil {
		return err
	}
	s.gateway.Redis, err = setup.Redis(ctx)
	return err
}

// readTokens reads the file of tokens, if there is to be one.
func (s *serving) readTokens() (err error) {
	if s.tokens == "" {
		return nil
	}
	s.gateway.Tokens, err = tokens.Open(s.tokens)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return commands.Misused("--tokens: %w; rmqd token NAME --tokens %s makes it", err, s.tokens)
	case err != nil:
		return commands.Misused("--tokens: %w", err)
	}
	return nil
}

// bind listens. Who reaches a port without tokens may do everything, so it must be one of this machine only.
func (s *serving) bind(ctx context.Context) (net.Listener, error) {
	host, _, err := net.SplitHostPort(s.listen)
	if err != nil {
		return nil, commands.Misused("--listen is %q; it must be host:port, such as 127.0.0.1:8080 or :8080", s.listen)
	}
	if s.tokens == "" && !loopback(ctx, host) {
		return nil, commands.Misused("--listen is %q, which others reach, and without --tokens they may do everything: make a token by rmqd token NAME --tokens tokens.json, and give --tokens tokens.json", s.listen)
	}
	var cfg *tls.Config
	if s.cert != "" {
		pair, err := tls.LoadX509KeyPair(s.cert, s.key)
		if err != nil {
			return nil, commands.Misused("--tls-cert and --tls-key: %w", err)
		}
		cfg = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.listen)
	if err != nil {
		return nil, commands.Failed("--listen %s: %w; is the port in use, or the address not of this machine?", s.listen, err)
	}
	if cfg != nil {
		listener = tls.NewListener(listener, cfg)
	}
	return listener, nil
}

// loopback reports whether only programs on this machine reach a host.
func loopback(ctx context.Context, host string) bool {
	if ip := net.ParseIP(host); ip != nil {
		return ip.IsLoopback()
	}
	all, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	for _, ip := range all {
		if !ip.IP.IsLoopback() {
			return false
		}
	}
	return err == nil && len(all) > 0
}

// serverOf bounds what a client may do without having said anything. Bodies and answers have bounds of their own.
func serverOf(g *gateway.Gateway, to *zap.Logger) *http.Server {
	return &http.Server{
		Handler: g, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: logOf(to),
	}
}

// rereadOnHangup reads the tokens again on SIGHUP, until stop is called.
func (s *serving) rereadOnHangup(log *zap.Logger) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		for range hangup {
			if s.gateway.Tokens == nil {
				continue
			}
			if err := s.gateway.Tokens.Reread(); err != nil {
				log.Error("the tokens stay as they were", zap.Error(err))
				continue
			}
			log.Info("the tokens were read again", zap.String("file", s.tokens))
		}
	}()
	return func() {
		signal.Stop(hangup)
		close(hangup)
	}
}

func (s *serving) greet(setup *commands.Setup, at net.Listener) {
	scheme, who := "http", "whoever reaches this port may do everything"
	if s.cert != "" {
		scheme = "https"
	}
	if s.tokens != "" {
		who = "tokens of " + s.tokens
	}
	fmt.Fprintf(setup.Errs, "serving %s://%s, Redis at %s; %s; until Ctrl-C\n", scheme, at.Addr(), setup.RedisAt(), who)
}
