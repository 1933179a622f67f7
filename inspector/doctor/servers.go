package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/servers/redisinfo"
	"github.com/slotmq/go-rmq/internal/text/humantime"
)

// How the doctor examines servers.

// server is one Redis server, and what it says about itself.
type server struct {
	addr   string
	err    error // why it said nothing
	ping   time.Duration
	ahead  time.Duration // how much its clock is ahead of this machine's
	doubt  time.Duration // how far that may be wrong
	info   redisinfo.Info
	infoNo error // why info is empty
}

// servers asks the server, or all masters of a Cluster.
func (d *doctor) servers(ctx context.Context) ([]server, error) {
	var (
		mu      sync.Mutex
		servers []server
	)
	err := cluster.Each(ctx, d.Redis, func(ctx context.Context, addr string, rdb redis.UniversalClient) {
		s := server{addr: addr}
		s.err = s.ask(ctx, rdb)
		mu.Lock()
		defer mu.Unlock()
		servers = append(servers, s)
	})
	if err == nil && len(servers) == 0 {
		err = errors.New("the Cluster has no master")
	}
	slices.SortFunc(servers, func(a, b server) int { return strings.Compare(a.addr, b.addr) })
	return servers, err
}

func (s *server) ask(ctx context.Context, rdb redis.UniversalClient) error {
	if err := rdb.Ping(ctx).Err(); err != nil { // which may have to connect first
		return err
	}
	began := time.Now()
	if err := rdb.Ping(ctx).Err(); err != nil {
		return err
	}
	s.ping = time.Since(began)
	began = time.Now()
	there, err := rdb.Time(ctx).Result()
	if err != nil {
		return err
	}
	s.doubt = time.Since(began) / 2
	s.ahead = there.Sub(began.Add(s.doubt))
	s.info, s.infoNo = redisinfo.Ask(ctx, rdb)
	return nil
}

const slowPing = 50 * time.Millisecond

func (d *doctor) connection(servers []server) Check {
	var findings []finding
	slowest := time.Duration(0)
	for _, s := range servers {
		slowest = max(slowest, s.ping)
		switch {
		case s.err != nil:
			findings = append(findings, fail(s.at(servers)+ask.OneLine(d.Explain(s.err)), "mend the address of Redis, or start it"))
		case s.ping > slowPing:
			findings = append(findings, warn(fmt.Sprintf("%sanswers in %s", s.at(servers), humantime.Duration(s.ping)),
				"run workers and producers nearer to Redis: each turn takes a round trip"))
		}
	}
	which := "the server answers"
	if len(servers) > 1 {
		which = fmt.Sprintf("%d masters answer", len(servers))
	}
	return check("connection", append(findings, ok("%s in %v", which, slowest.Round(10*time.Microsecond))))
}

// at names the server where there are several.
func (s *server) at(servers []server) string {
	if len(servers) == 1 {
		return ""
	}
	return "server " + s.addr + ": "
}

// wrongClock is how much clocks may differ before the doctor warns.
const wrongClock = 500 * time.Millisecond

// clocks compares those of the servers with this machine's and with each other.
func clocks(servers []server) Check {
	const advice = "let NTP set the clocks; RMQ counts by the server's: fixed times come early or late by as much"
	var findings []finding
	off := time.Duration(0)
	first, last := servers[0], servers[0]
	for _, s := range servers {
		off = max(off, s.ahead.Abs())
		if s.ahead < first.ahead {
			first = s
		}
		if s.ahead > last.ahead {
			last = s
		}
		if s.ahead.Abs()-s.doubt > wrongClock {
			word := "ahead of"
			if s.ahead < 0 {
				word = "behind"
			}
			findings = append(findings, warn(fmt.Sprintf("%sits clock is %s %s this machine's",
				s.at(servers), humantime.Duration(s.ahead.Abs()), word), advice))
		}
	}
	if apart := last.ahead - first.ahead; apart-first.doubt-last.doubt > wrongClock {
		findings = append(findings, warn(fmt.Sprintf("the clocks of %s and %s are %s apart",
			first.addr, last.addr, humantime.Duration(apart)), advice))
	}
	far := "less than 1ms"
	if off >= time.Millisecond {
		far = "at most " + off.Round(time.Millisecond).String()
	}
	return check("clock", append(findings, ok("%s from this machine's", far)))
}
