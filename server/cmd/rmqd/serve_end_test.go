package main

import (
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/server/gateway"
)

// A request that does not end is cut off, and the gateway is closed in order all the same.
func TestEndCutsOff(t *testing.T) {
	t.Parallel()
	g, err := gateway.New(gateway.Config{Redis: servertest.Redis(t).Client(t)})
	must.Do(t, err)
	begun, cut := make(chan struct{}), make(chan struct{})
	server := &http.Server{Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(begun)
		<-r.Context().Done()
		close(cut)
	})}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	go func() { _ = server.Serve(listener) }()
	within := await.Context(t)
	req, err := http.NewRequestWithContext(within, "GET", "http://"+listener.Addr().String(), nil)
	must.Do(t, err)
	go func() {
		if res, err := http.DefaultClient.Do(req); err == nil {
			_ = res.Body.Close()
		}
	}()
	<-begun
	err = end(within, server, g, 50*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "requests were cut off that took longer than 50ms") || strings.Contains(err.Error(), "Redis") {
		t.Error(err)
	}
	await.Signal(t, "the request is cut off", cut)
}
