package sharetest

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"
)

// Seed is that of a random test: another one each time, or RMQ_SEED. It is printed
// when the test fails.
func Seed(t testing.TB) int64 {
	t.Helper()
	seed := time.Now().UnixNano()
	if text := os.Getenv("RMQ_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseInt(text, 10, 64); err != nil {
			t.Fatalf("RMQ_SEED: %v", err)
		}
	}
	t.Logf("RMQ_SEED=%d", seed)
	return seed
}

// Rand draws by the Seed of a test.
func Rand(t testing.TB) *rand.Rand {
	t.Helper()
	return rand.New(rand.NewPCG(uint64(Seed(t)), 0))
}
