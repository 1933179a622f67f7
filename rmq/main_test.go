package rmq_test

import (
	"os"
	"testing"

	"github.com/slotmq/go-rmq/internal/proctest"
	"github.com/slotmq/go-rmq/internal/servertest"
)

// TestMain runs the tests, or a worker, if a test has started this process as
// one.
func TestMain(m *testing.M) {
	var j job
	if proctest.Child(&j) {
		os.Exit(j.work())
	}
	servertest.Main(m)
}
