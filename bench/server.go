package main

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// server is one Redis of the fleet.
type server struct {
	addr         string
	port, second int
	dir          string
	cmd          *exec.Cmd
	rdb          *redis.Client
}

// info returns all fields of INFO.
func (s *server) info() map[string]string { return fields(s.rdb.Info(ctx, "everything").Val()) }

// fields reads lines of the form key:value.
func fields(text string) map[string]string {
	all := map[string]string{}
	for line := range strings.Lines(text) {
		if key, value, found := strings.Cut(strings.TrimSpace(line), ":"); found {
			all[key] = value
		}
	}
	return all
}

// counts are what servers have done, and used for it.
type counts struct {
	cpu         time.Duration
	commands    int64 // those inside scripts too
	turns       int64
	publishes   int64
	bus         int64 // publishes that the nodes of a Cluster passed to each other
	reads       int64 // of the servers from their connections
	connections int64
}

// counts are those of one server since it was started.
func (s *server) counts() counts {
	info, cluster := s.info(), fields(s.rdb.ClusterInfo(ctx).Val())
	return counts{
		cpu:         time.Duration((number(info["used_cpu_sys"]) + number(info["used_cpu_user"])) * float64(time.Second)),
		commands:    int64(number(info["total_commands_processed"])),
		turns:       calls(info["cmdstat_evalsha"]),
		publishes:   calls(info["cmdstat_publish"]),
		bus:         int64(number(cluster["cluster_stats_messages_publish_sent"])),
		reads:       int64(number(info["total_reads_processed"])),
		connections: int64(number(info["total_connections_received"])),
	}
}

// add sums up servers, or takes away what was before when times is -1.
func (c *counts) add(other counts, times int64) {
	c.cpu += time.Duration(times) * other.cpu
	c.commands += times * other.commands
	c.turns += times * other.turns
	c.publishes += times * other.publishes
	c.bus += times * other.bus
	c.reads += times * other.reads
	c.connections += times * other.connections
}

func number(text string) float64 {
	value, _ := strconv.ParseFloat(text, 64)
	return value
}

// calls reads a field of the form calls=12,usec=34,...
func calls(field string) int64 {
	text, _, _ := strings.Cut(strings.TrimPrefix(field, "calls="), ",")
	return int64(number(text))
}

// clientCPU is the CPU time this process has used.
func clientCPU() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
