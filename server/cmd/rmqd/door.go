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
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/commands"
	"github.com/slotmq/go-rmq/server/tokens"
)

// door is where a service is reached, and who may come in.
type door struct {
	listen, file, cert, key string
	tokens                  *tokens.File // nil: none are needed
	stop                    func()
	proxied                 bool // a proxy in front signs people in
}

func addDoorFlags(flags *flag.FlagSet, listen string) *door {
	d := &door{}
	flags.StringVar(&d.listen, "listen", listen, "`host:port` to listen at; no host: all addresses of this machine")
	flags.StringVar(&d.file, "tokens", "", "`file` that says who may do what")
	flags.StringVar(&d.cert, "tls-cert", "", "`file` of the certificate, with those between it and the root")
	flags.StringVar(&d.key, "tls-key", "", "`file` of its key")
	return d
}

// open reads the tokens and listens.
func (d *door) open(ctx context.Context, log *zap.Logger) (net.Listener, error) {
	if (d.cert == "") != (d.key == "") {
		return nil, commands.Misused("give both --tls-cert and --tls-key, or neither of them")
	}
	if err := d.readTokens(); err != nil {
		return nil, err
	}
	d.stop = d.rereadOnHangup(log) // from now on SIGHUP does not end the process
	listener, err := d.bind(ctx)
	if err != nil {
		d.shut()
	}
	return listener, err
}

// shut ends what open began, but for the listener.
func (d *door) shut() { d.stop() }

// readTokens reads the file of tokens, if there is to be one.
func (d *door) readTokens() (err error) {
	if d.file == "" {
		return nil
	}
	d.tokens, err = tokens.Open(d.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return commands.Misused("--tokens: %w; rmqd token NAME --tokens %s makes it", err, d.file)
	case err != nil:
		return commands.Misused("--tokens: %w", err)
	}
	return nil
}

// bind listens. Who reaches a port without tokens may do everything, so it must be one of this machine only.
func (d *door) bind(ctx context.Context) (net.Listener, error) {
	host, _, err := net.SplitHostPort(d.listen)
	if err != nil {
		return nil, commands.Misused("--listen is %q; it must be host:port, such as 127.0.0.1:8080 or :8080", d.listen)
	}
	if d.file == "" && !d.proxied && !loopback(ctx, host) {
		return nil, commands.Misused("--listen is %q, which others reach, and without --tokens they may do everything: make a token by rmqd token NAME --tokens tokens.json, and give --tokens tokens.json", d.listen)
	}
	var cfg *tls.Config
	if d.cert != "" {
		pair, err := tls.LoadX509KeyPair(d.cert, d.key)
		if err != nil {
			return nil, commands.Misused("--tls-cert and --tls-key: %w", err)
		}
		cfg = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", d.listen)
	if err != nil {
		return nil, commands.Failed("--listen %s: %w; is the port in use, or the address not of this machine?", d.listen, err)
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
func (d *door) serverOf(h http.Handler, to *zap.Logger) *http.Server {
	if d.file == "" && !d.proxied {
		h = onlyThisMachine(h)
	}
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: logOf(to),
	}
}

// rereadOnHangup reads the tokens again on SIGHUP, until stop is called.
func (d *door) rereadOnHangup(log *zap.Logger) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		for range hangup {
			if d.tokens == nil {
				continue
			}
			if err := d.tokens.Reread(); err != nil {
				log.Error("the tokens stay as they were", zap.Error(err))
				continue
			}
			log.Info("the tokens were read again", zap.String("file", d.file))
		}
	}()
	return func() {
		signal.Stop(hangup)
		close(hangup)
	}
}

// mayDo is what people may do who need no token.
func mayDo(act bool) string {
	if act {
		return "do everything"
	}
	return "look at everything"
}

// greet says where the service is, who may come in, and what they may do there.
func (d *door) greet(setup *commands.Setup, what, path, may string, at net.Listener) {
	scheme, who := "http", "anyone who reaches this port may "+may
	if d.cert != "" {
		scheme = "https"
	}
	switch {
	case d.proxied:
		who = "anyone who reaches this port without the proxy may " + may + ": let only the proxy reach it"
	case d.file != "":
		who = "tokens of " + d.file
	}
	fmt.Fprintf(setup.Errs, "%s %s://%s%s, Redis at %s; %s; until Ctrl-C\n", what, scheme, at.Addr(), path, setup.RedisAt(), who)
}

// onlyThisMachine refuses requests that name another host: a page of another site, whose name leads to this machine for
// a moment, could make a browser send them.
func onlyThisMachine(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		host = strings.Trim(host, "[]")
		if ip := net.ParseIP(host); host == "localhost" || host == "" || ip != nil && ip.IsLoopback() {
			h.ServeHTTP(w, r)
			return
		}
		http.Error(w, "without --tokens this is only for programs on its own machine: ask for it as localhost or 127.0.0.1", http.StatusForbidden)
	})
}
