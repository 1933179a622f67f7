package servertest

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// member is what a cluster node says about one node, itself or another.
type member struct {
	id, addr string
	myself   bool
	healthy  bool   // connected, and not suspected by others
	master   string // whose replica it is; empty for a master
	epoch    uint64
	slots    [][2]int // ranges, both ends included
}

func (m member) serves(slot int) bool {
	return slices.ContainsFunc(m.slots, func(r [2]int) bool { return r[0] <= slot && slot <= r[1] })
}

// views asks all nodes at once what they see. Those that do not answer are missing.
func (c *RedisCluster) views(ctx context.Context) map[*Server][]member {
	ctx, cancel := context.WithTimeout(ctx, askPatience)
	defer cancel()
	var mu sync.Mutex
	var asked sync.WaitGroup
	all := map[*Server][]member{}
	for _, s := range c.nodes {
		asked.Go(func() {
			view, err := c.view(ctx, s)
			if err != nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			all[s] = view
		})
	}
	asked.Wait()
	return all
}

func (c *RedisCluster) view(ctx context.Context, s *Server) ([]member, error) {
	text, err := c.admin[s].ClusterNodes(ctx).Result()
	if err != nil {
		return nil, err
	}
	var view []member
	for line := range strings.Lines(text) {
		m, err := parseMember(line)
		if err != nil {
			return nil, err
		}
		view = append(view, m)
	}
	return view, nil
}

// parseMember reads a line of CLUSTER NODES:
//
//	id host:port@bus flags master ping pong epoch link slot|from-to|[moving] ...
func parseMember(line string) (member, error) {
	f := strings.Fields(line)
	if len(f) < 8 {
		return member{}, fmt.Errorf("CLUSTER NODES: %q", line)
	}
	flags := strings.Split(f[2], ",")
	m := member{
		id:      f[0],
		myself:  slices.Contains(flags, "myself"),
		healthy: f[7] == "connected" && !slices.ContainsFunc(flags, unwell),
	}
	m.addr, _, _ = strings.Cut(f[1], "@")
	if f[3] != "-" {
		m.master = f[3]
	}
	var err error
	if m.epoch, err = strconv.ParseUint(f[6], 10, 64); err != nil {
		return member{}, fmt.Errorf("CLUSTER NODES: %w", err)
	}
	for _, r := range f[8:] {
		if strings.HasPrefix(r, "[") { // a slot on the move is served by its old master
			continue
		}
		from, to, isRange := strings.Cut(r, "-")
		if !isRange {
			to = from
		}
		a, err := strconv.Atoi(from)
		if err != nil {
			return member{}, fmt.Errorf("CLUSTER NODES: %w", err)
		}
		b, err := strconv.Atoi(to)
		if err != nil {
			return member{}, fmt.Errorf("CLUSTER NODES: %w", err)
		}
		m.slots = append(m.slots, [2]int{a, b})
	}
	return m, nil
}

func unwell(flag string) bool {
	return slices.Contains([]string{"fail?", "fail", "handshake", "noaddr"}, flag)
}
