package takeoverdelay

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }
