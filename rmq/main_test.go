package rmq_test

import (
	"os"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
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
