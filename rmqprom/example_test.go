package rmqprom_test

import (
	"log"
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/rmqprom"
)

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}

// Each process that sends or handles counts what it does.
func Example() {
	metrics, err := rmqprom.New(rmqprom.Config{})
	check(err)
	client, err := rmq.New(rmq.Config{
		URL:        "redis://localhost:6379",
		Observers:  []rmq.Observer{metrics},
		Middleware: []rmq.Middleware{metrics.Middleware},
	})
	check(err)
	http.Handle("/metrics", promhttp.Handler())
	_ = client
}

// One process shows what is stored. Package exporter is such a program.
func ExampleNewState() {
	rdb := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
	_, err := rmqprom.NewState(rmqprom.StateConfig{Redis: rdb, Topics: []string{"orders", "mail-*"}})
	check(err)
	http.Handle("/metrics", promhttp.Handler())
}
