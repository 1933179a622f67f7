package slots_test

import (
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/slots"
)

// Every program computes the same slot for the same basis: a dashboard can say where the
// messages of a customer wait.
func ExampleOf() {
	fmt.Println(slots.Of("customer 12", 64))
	// Output: 3
}

// It goes into rmq.Config.Slots. All workers of a topic must have the same.
func ExampleZooKeeper() {
	sharing := slots.ZooKeeper(slots.ZooKeeperConfig{
		Servers:        []string{"zoo1:2181", "zoo2:2181", "zoo3:2181"},
		SessionTimeout: 10 * time.Second, // how long the slots of a worker that died stay with it
		OnOutage:       slots.Coast,      // go on working while ZooKeeper is away
	})
	fmt.Println(sharing != nil)
	// Output: true
}
