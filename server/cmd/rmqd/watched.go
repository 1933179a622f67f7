package main

import (
	"context"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/commands/frame"
)

// watched serves the probes and the metrics of a service that listens to nothing else, if at is not empty. stop ends that.
func watched(ctx context.Context, at string, probes, metrics http.Handler, log *zap.Logger) (stop func(), err error) {
	if at == "" {
		return func() {}, nil
	}
	if _, _, err := net.SplitHostPort(at); err != nil {
		return nil, frame.Misused("--metrics is %q; it must be host:port, such as 127.0.0.1:9090 or :9090", at)
	}
	listener, err := listenAt(ctx, "--metrics", at)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", metrics)
	mux.Handle("/", probes)
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, ErrorLog: logOf(log)}
	go func() { _ = server.Serve(listener) }() // until stop
	log.Info("metrics and probes", zap.String("address", listener.Addr().String()))
	return func() { _ = server.Close() }, nil
}
