// Package guide_test holds the code of docs/GUIDE.md, a file for each task. All of it is
// run: in memory, where the examples move the clock.
package guide_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/exampletest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqtest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

var ctx = context.Background()

// open is rmq.New on an in-memory Redis, whose clock Advance moves.
func open(cfg rmq.Config) (client *rmqtest.Client, end func()) {
	t := new(exampletest.T)
	return rmqtest.New(t, cfg), t.End
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

// show is a listener that prints what it gets.
func show(_ context.Context, d *rmq.Delivery) error {
	fmt.Println(d.Content)
	return nil
}
