package servers

import (
	"context"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

var ctx = context.Background()

// Server is one Redis of the fleet.
type Server struct {
	Addr string
	Rdb  *redis.Client // to look at it from beside the work

	dir string
	cmd *exec.Cmd
}

// Version of the server.
func (s *Server) Version() string { return s.info()["redis_version"] }

// Memory is how many bytes the server uses for what it stores.
func (s *Server) Memory() int64 { return int64(number(s.info()["used_memory"])) }

// info returns all fields of INFO.
func (s *Server) info() map[string]string { return fields(s.Rdb.Info(ctx, "everything").Val()) }

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

// Counts are what servers have done, and used for it.
type Counts struct {
	CPU       time.Duration
	Commands  int64 // those inside scripts too
	Turns     int64
	Publishes int64
	Reads     int64 // of the servers from their connections
}

// Counts are those of one server since it was started.
func (s *Server) Counts() Counts {
	info := s.info()
	return Counts{
		CPU:       time.Duration((number(info["used_cpu_sys"]) + number(info["used_cpu_user"])) * float64(time.Second)),
		Commands:  int64(number(info["total_commands_processed"])),
		Turns:     calls(info["cmdstat_evalsha"]),
		Publishes: calls(info["cmdstat_publish"]) + calls(info["cmdstat_spublish"]),
		Reads:     int64(number(info["total_reads_processed"])),
	}
}

// Add sums up servers, or takes away what was before when times is -1.
func (c *Counts) Add(other Counts, times int64) {
	c.CPU += time.Duration(times) * other.CPU
	c.Commands += times * other.Commands
	c.Turns += times * other.Turns
	c.Publishes += times * other.Publishes
	c.Reads += times * other.Reads
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
