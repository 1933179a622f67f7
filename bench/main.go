// Command bench measures RMQ side by side with what people use today, on one
// Redis server that it starts itself, through the public API of each:
//
//	cd bench && go run . -quick
//
// The rounds of all contestants are interleaved and medians are told, because
// a machine's speed moves from minute to minute. Only ratios within one run
// mean something. Every message has an identity: a round in which one was lost
// or came twice says so and fails the run.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"time"

	"github.com/redis/go-redis/v9"
)

type options struct {
	rounds   int
	messages int
	asynq    int
	payload  int
}

func main() {
	o := options{}
	quick := flag.Bool("quick", false, "the headline in under a minute: 5 rounds")
	flag.IntVar(&o.rounds, "rounds", 9, "interleaved rounds, the medians of which are told")
	flag.IntVar(&o.messages, "messages", 400_000, "messages of a round of RMQ")
	flag.IntVar(&o.asynq, "asynq", 40_000, "messages of a round of asynq")
	flag.IntVar(&o.payload, "payload", 100, "bytes of a message")
	flag.Parse()
	if *quick {
		o.rounds = 5
	}
	if flag.NArg() > 0 || o.rounds < 1 || o.messages < 1 || o.asynq < 1 || o.payload < 16 {
		fmt.Fprintln(os.Stderr, "bench: no arguments are taken, counts are at least 1, and a payload has at least 16 bytes")
		os.Exit(2)
	}
	redis.SetLogger(silence{})
	if err := run(o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}

func run(o options) error {
	s, err := startRedis()
	if err != nil {
		return err
	}
	defer s.stop()
	fmt.Printf("Redis %s on %s, %s, %d processors shared by server and clients\n",
		s.version(), s.addr, runtime.Version(), runtime.NumCPU())
	fmt.Printf("%d bytes a message; %d rounds of: send and handle at once\n\n", o.payload, o.rounds)
	contestants := []struct {
		name string
		run  func(*server, options) (sample, error)
		all  []sample
	}{
		{name: "RMQ", run: bothRMQ},
		{name: "asynq", run: bothAsynq},
		{name: "ZADD", run: ceiling},
	}
	for round := range o.rounds {
		for i := range contestants {
			c := &contestants[i]
			one, err := c.run(s, o)
			if err != nil {
				return fmt.Errorf("%s, round %d: %w", c.name, round+1, err)
			}
			c.all = append(c.all, one)
			fmt.Printf("round %d/%d  %-6s %9.0f msg/s\n", round+1, o.rounds, c.name, one.rate())
		}
	}
	fmt.Printf("\n%-34s %12s %21s %10s %10s %9s\n", "median of the rounds", "msg/s", "[least .. most]", "Redis µs", "client µs", "commands")
	medians := map[string]summary{}
	for _, c := range contestants {
		m := summarize(c.all)
		medians[c.name] = m
		fmt.Printf("%-34s %12.0f %21s %10.2f %10.2f %9.2f\n", titles[c.name], m.rate,
			fmt.Sprintf("[%.0f .. %.0f]", m.least, m.most), m.redis, m.client, m.commands)
	}
	r, a, z := medians["RMQ"], medians["asynq"], medians["ZADD"]
	fmt.Printf("\nEvery message was handled exactly once in every round.\n")
	fmt.Printf("RESULT both_vs_asynq=%.1f both_vs_zadd=%.2f redis_us=%.2f client_us=%.2f redis_vs_asynq=1/%.1f client_vs_asynq=1/%.1f\n",
		r.rate/a.rate, r.rate/z.rate, r.redis, r.client, a.redis/r.redis, a.client/r.client)
	return nil
}

var titles = map[string]string{
	"RMQ":   "RMQ: send and handle",
	"asynq": "asynq: enqueue and process",
	"ZADD":  "pipelined ZADD alone (ceiling)",
}

// sample is one round of one contestant.
type sample struct {
	messages int
	took     time.Duration
	redis    time.Duration // CPU of the server
	client   time.Duration // CPU of this process
	commands int64
}

func (s sample) rate() float64 { return float64(s.messages) / s.took.Seconds() }
