package main

import (
	"fmt"
	"runtime"
)

const (
	masters = 3
	wide    = 64 // slots, so that all masters have about the same work
	narrow  = 16 // slots of each server apart: a power of two, rather too few than too many
)

// againstCluster measures the same work on a Cluster and on one Redis. On a
// machine with few processors the servers share them, so the messages per
// second cannot grow; what counts is how much of Redis a message costs. Several
// servers take each other's caches and turns even if they are no Cluster: how
// much that is, as many servers tell that do not know each other. And callers who
// wait for their receipts are spread over the masters: with -callers 768 each
// master has as many as the one Redis has by default.
func againstCluster(f *fleet, o options) error {
	contestants := []*contestant{
		{name: "Cluster", title: fmt.Sprintf("Cluster of %d masters", masters)},
		{name: "single", title: "one Redis"},
		{name: "apart", title: fmt.Sprintf("%d Redis apart, %d slots each", masters, narrow)},
	}
	starts := []func() (place, error){
		func() (place, error) { return f.cluster(masters) },
		func() (place, error) { return f.apart(1) },
		func() (place, error) { return f.apart(masters) },
	}
	for i, slots := range []int{wide, wide, narrow} {
		p, err := starts[i]()
		if err != nil {
			return err
		}
		if i == 0 {
			fmt.Printf("Redis %s, %s, %d processors shared by servers and clients\n", p.version(), runtime.Version(), runtime.NumCPU())
			fmt.Printf("%d bytes a message, %d slots, %d callers of Send; %d rounds of: send and handle at once\n\n", o.payload, wide, o.callers, o.rounds)
		}
		contestants[i].run = func() (sample, error) { return bothRMQ(p, slots, o) }
	}
	if err := interleave(contestants, o.rounds); err != nil {
		return err
	}
	table(contestants)
	work(contestants)
	c, s, a := summarize(contestants[0].all), summarize(contestants[1].all), summarize(contestants[2].all)
	fmt.Printf("\nEvery message was handled exactly once in every round.\n")
	fmt.Printf("RESULT cluster_msgs_per_redis_cpu_s=%.0f single_msgs_per_redis_cpu_s=%.0f cluster_vs_single=%.2f cluster_vs_apart=%.2f cluster_client_us=%.2f single_client_us=%.2f\n",
		1e6/c.redis, 1e6/s.redis, s.redis/c.redis, a.redis/c.redis, c.client, s.client)
	return nil
}

// work prints what the servers were asked, which explains what they cost.
func work(contestants []*contestant) {
	fmt.Printf("\n%-34s %17s %10s %10s %10s %10s %12s\n",
		"for 1000 messages", "msg/Redis CPU s", "turns", "reads", "publishes", "on the bus", "connections")
	for _, c := range contestants {
		per1000 := func(of func(counts) int64) float64 {
			return perMessage(c.all, func(s sample) float64 { return 1000 * float64(of(s.redis)) })
		}
		fmt.Printf("%-34s %17.0f %10.1f %10.1f %10.2f %10.2f %12.0f\n", c.title, 1e6/summarize(c.all).redis,
			per1000(func(n counts) int64 { return n.turns }),
			per1000(func(n counts) int64 { return n.reads }),
			per1000(func(n counts) int64 { return n.publishes }),
			per1000(func(n counts) int64 { return n.bus }),
			column(c.all, func(s sample) float64 { return float64(s.redis.connections) })[len(c.all)/2])
	}
}
