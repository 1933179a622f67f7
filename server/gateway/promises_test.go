package gateway

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	usual := Config{}.withDefaults()
	http := promises.Of(t, "docs/HTTP.md")
	http.Says("not read from either, and after a minute the stream ends", time.Minute, readWithin)
	http.Says("waits until something comes, 60 s at the most", time.Minute, request.MaxWait)
	http.Says("Redis answers within 800 ms", 800*time.Millisecond, probePatience)
	http.Says("| body, or line of a stream | 1 MiB (`--max-body`) |", 1<<20, usual.MaxBody)
	http.Says("| content of a message | 256 KiB (`--max-content`) |", 256<<10, usual.MaxContent)
	http.Says("| messages of a request | 1,000;", 1000, request.MaxBatch)
	http.Says("| wait of a take | 60 s |", time.Minute, request.MaxWait)
	http.Says("A proxy in front must let a request wait for 60 s", time.Minute, request.MaxWait)
	http.Says("| takes that wait at a time | 1,000 a gateway", 1000, usual.MaxWaiting)
	http.Says("it is yours for 60 s, or as long as `ttr` says", time.Minute, sdmqTTR)
}
