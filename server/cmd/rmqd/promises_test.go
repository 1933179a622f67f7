package main

import (
	"testing"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	http := promises.Of(t, "docs/HTTP.md")
	http.Says("A request without its body may have 64 KiB,", 64<<10, (&endpoint{}).serverOf(nil, zap.NewNop()).MaxHeaderBytes)
	http.Says("and gives the other requests 20 s.", 20*time.Second, draining)
}
