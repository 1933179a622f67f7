// Command bench measures RMQ on Redis servers that it starts itself, through
// the public API, side by side with what people use today:
//
//	cd bench && go run . -quick
//
// and on a Redis Cluster of three masters side by side with one Redis:
//
//	cd bench && go run . -cluster
//
// The rounds of all contestants are interleaved and medians are told, because
// a machine's speed moves from minute to minute. Only ratios within one run
// mean something. Every message has an identity: a round in which one was lost
// or came twice says so and fails the run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/redis/go-redis/v9"
)

type options struct {
	rounds   int
	messages int
	callers  int
	asynq    int
	payload  int
}

func main() {
	o := options{}
	quick := flag.Bool("quick", false, "the headline in under a minute: 5 rounds")
	cluster := flag.Bool("cluster", false, "a Cluster of three masters against one Redis, instead of the rivals")
	flag.IntVar(&o.rounds, "rounds", 9, "interleaved rounds, the medians of which are told")
	flag.IntVar(&o.messages, "messages", 400_000, "messages of a round of RMQ")
	flag.IntVar(&o.callers, "callers", 256, "goroutines that call Send of RMQ, each waiting for its receipt")
	flag.IntVar(&o.asynq, "asynq", 40_000, "messages of a round of asynq")
	flag.IntVar(&o.payload, "payload", 100, "bytes of a message")
	flag.Parse()
	if *quick {
		o.rounds = 5
	}
	if flag.NArg() > 0 || o.rounds < 1 || o.messages < 1 || o.callers < 1 || o.asynq < 1 || o.payload < 16 {
		fmt.Fprintln(os.Stderr, "bench: no arguments are taken, counts are at least 1, and a payload has at least 16 bytes")
		os.Exit(2)
	}
	redis.SetLogger(silence{})
	run := againstRivals
	if *cluster {
		run = againstCluster
	}
	if err := interruptible(run, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// interruptible stops the servers and removes their directories however run
// ends, by Ctrl-C too.
func interruptible(run func(*fleet, options) error, o options) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	fleet, done := &fleet{}, make(chan error, 1)
	defer fleet.stop()
	go func() { done <- run(fleet, o) }()
	select {
	case err := <-done:
		return err
	case <-signals:
		return errors.New("interrupted")
	}
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
