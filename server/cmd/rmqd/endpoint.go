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
	"strconv"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/server/gateway"
	"github.com/slotmq/go-rmq/server/tokens"
)

// endpoint is where a service is reached, and who may use it.
type endpoint struct {
	listen, file, cert, key string
	tokens                  *tokens.File // nil: none are needed
	stop                    func()
	at                      net.Addr // where it listens

	may     string     // what those may do who need no token
	console string     // path of the console; empty: there is none
	header  headerName // a proxy puts the name of the person into it; empty: there is no proxy
}

// onlyConsole reports whether only people come here: then a proxy may sign them in.
func (e *endpoint) onlyConsole() bool { return e.console == "/" }

func addEndpointFlags(flags *flag.FlagSet, listen string) *endpoint {
	e := &endpoint{}
	flags.StringVar(&e.listen, "listen", listen, "`host:port` to listen at; no host: all addresses of this machine")
	flags.StringVar(&e.file, "tokens", "", "`file` that says who may do what")
	flags.StringVar(&e.cert, "tls-cert", "", "`file` of the certificate, with those between it and the root")
	flags.StringVar(&e.key, "tls-key", "", "`file` of its key")
	return e
}

// open reads the tokens and listens.
func (e *endpoint) open(ctx context.Context, log *zap.Logger) (net.Listener, error) {
	if (e.cert == "") != (e.key == "") {
		return nil, frame.Misused("give both --tls-cert and --tls-key, or neither of them")
	}
	if err := e.readTokens(); err != nil {
		return nil, err
	}
	e.stop = e.rereadOnHangup(log) // from now on SIGHUP does not end the process
	listener, err := e.bind(ctx)
	if err != nil {
		e.shut()
	}
	return listener, err
}

// shut ends what open began, but for the listener.
func (e *endpoint) shut() { e.stop() }

// readTokens reads the file of tokens, if there is to be one.
func (e *endpoint) readTokens() (err error) {
	if e.file == "" {
		return nil
	}
	e.tokens, err = tokens.Open(e.file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return frame.Misused("--tokens: %w; rmqd token NAME --tokens %s makes it", err, e.file)
	case err != nil:
		return frame.Misused("--tokens: %w", err)
	}
	return nil
}

// bind listens. Without tokens anyone who reaches the port gets in, so it must be one of this machine only.
func (e *endpoint) bind(ctx context.Context) (net.Listener, error) {
	host, port, err := net.SplitHostPort(e.listen)
	if err != nil {
		return nil, frame.Misused("--listen is %q; it must be host:port, such as 127.0.0.1:8080 or :8080", e.listen)
	}
	if e.file == "" && e.header == "" && !loopback(ctx, host) {
		return nil, e.tooOpen(port)
	}
	var cfg *tls.Config
	if e.cert != "" {
		pair, err := tls.LoadX509KeyPair(e.cert, e.key)
		if err != nil {
			return nil, frame.Misused("--tls-cert and --tls-key: %w", err)
		}
		cfg = &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12, NextProtos: []string{"h2", "http/1.1"}}
	}
	listener, err := listenAt(ctx, "--listen", e.listen)
	if err != nil {
		return nil, err
	}
	e.at = listener.Addr()
	if cfg != nil {
		listener = tls.NewListener(listener, cfg)
	}
	return listener, nil
}

// tooOpen says what others could do at a port, and all ways to keep them from it.
func (e *endpoint) tooOpen(port string) error {
	rights, proxy := "", ""
	if e.onlyConsole() {
		rights = " --rights look,act"
		proxy = "; or give --user-header NAME, if a proxy in front signs people in"
	}
	return frame.Misused("--listen is %q, which others reach, and without --tokens they may %s: make a token by rmqd token NAME%s --tokens tokens.json, and give --tokens tokens.json%s; or give --listen 127.0.0.1:%s",
		e.listen, e.may, rights, proxy, port)
}

// listenAt listens at what a flag says.
func listenAt(ctx context.Context, flag, at string) (net.Listener, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
	if errors.Is(err, syscall.EADDRINUSE) {
		return nil, frame.Failed("listen at %s: another program listens there; try %s %s", at, flag, nextPort(ctx, at))
	}
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err // without the address, which the line has
	}
	if err != nil {
		return nil, frame.Failed("%s %s: %w; is it an address of this machine, and may you listen at this port?", flag, at, err)
	}
	return listener, nil
}

// nextPort is an address with the next port.
func nextPort(ctx context.Context, at string) string {
	host, name, _ := net.SplitHostPort(at)
	port, _ := net.DefaultResolver.LookupPort(ctx, "tcp", name) // it has been found before, to listen there
	next := port + 1
	if next > 65535 {
		next = port - 1
	}
	return net.JoinHostPort(host, strconv.Itoa(next))
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
func (e *endpoint) serverOf(h http.Handler, to *zap.Logger) *http.Server {
	if e.file == "" && e.header == "" {
		h = e.onlyThisMachine(h)
	}
	return &http.Server{
		Handler: h, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		ErrorLog: logOf(to),
	}
}

// rereadOnHangup reads the tokens again on SIGHUP, until stop is called.
func (e *endpoint) rereadOnHangup(log *zap.Logger) (stop func()) {
	hangup := make(chan os.Signal, 1)
	signal.Notify(hangup, syscall.SIGHUP)
	go func() {
		for range hangup {
			if e.tokens == nil {
				continue
			}
			if err := e.tokens.Reread(); err != nil {
				log.Error("the tokens stay as they were", zap.Error(err))
				continue
			}
			log.Info("the tokens were read again", zap.String("file", e.file))
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

// url is the service at a host:port.
func (e *endpoint) url(at string) string {
	if e.cert != "" {
		return "https://" + at
	}
	return "http://" + at
}

// titleOf is the title of the console. People who sign in are not shown where Redis is, unless you say so.
func (e *endpoint) titleOf(given, redis string) string {
	if given == "" && e.file == "" {
		return redis
	}
	return given
}

// greet says where the service is, who may come in, and what they may do there.
func (e *endpoint) greet(call *frame.Call, what, path, may string, at net.Listener) {
	who := "anyone who reaches this port may " + may
	switch {
	case e.header != "":
		who = "anyone who reaches this port without the proxy may " + may + ": let only the proxy reach it"
	case e.file != "":
		who = "tokens of " + e.file
	}
	fmt.Fprintf(call.Errs, "%s %s%s, Redis at %s; %s; until Ctrl-C\n", what, e.url(at.Addr().String()), path, call.RedisAt(), who)
}

// onlyThisMachine refuses requests that name another host: a page of another site, whose name leads to this machine for
// a moment, could make a browser send them.
func (e *endpoint) onlyThisMachine(h http.Handler) http.Handler {
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
		if e.console == "" || !strings.HasPrefix(r.URL.Path+"/", e.console) {
			gateway.RefuseOtherHost(w, "without --tokens this is only for programs on its own machine: ask for it as localhost or 127.0.0.1")
			return
		}
		http.Error(w, e.howToReach(), http.StatusForbidden)
	})
}

// howToReach says how to reach the console, to people who have named another host.
func (e *endpoint) howToReach() string {
	host, port, _ := net.SplitHostPort(e.at.String())
	if host == "127.0.0.1" || host == "::1" { // localhost is no other address of this machine, such as 127.0.1.1
		host = "localhost"
	}
	text := "this console is only for people on its own machine: open " + e.url(net.JoinHostPort(host, port)) + e.console + ", or start it with --tokens"
	if e.onlyConsole() {
		text += ", or with --user-header behind a proxy"
	}
	return text
}
