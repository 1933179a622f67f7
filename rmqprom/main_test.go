package rmqprom_test

import (
	"context"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

var ctx = context.Background()
