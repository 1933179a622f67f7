package kills

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/system/workers"
)

func TestMain(m *testing.M) { workers.Main(m) }
