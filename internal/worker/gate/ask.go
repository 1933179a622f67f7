package gate

import (
	"math"
	"math/rand/v2"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/worker/breaker"
)

// Ask returns what a turn asks for in a state of the gate, and how many messages of that, or 0 if as many as usual. With
// [protocol.Behind] the number is the place of the one message that it takes. A place that is drawn is drawn so that few of
// the first and many of all are tried equally often.
func Ask(s breaker.State) (wants protocol.Wants, count int) {
	switch s {
	case breaker.ProbeLast:
		return protocol.Behind, protocol.MaxBatch
	case breaker.ProbeDrawn:
		return protocol.Behind, int(math.Pow(protocol.MaxBatch, rand.Float64()))
	case breaker.ProbeRetry:
		return protocol.Retry, 1
	case breaker.OneByOne:
		return protocol.First, 1
	}
	return protocol.First, 0
}
