package cluster

import (
	"context"
	"net"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/wait"
)

// StillMaster asks the servers of a Cluster whether the one at addr has the key now.
// It does not ask that one itself: after it has stood still, it does not know yet whether
// it was replaced. The answer is yes if no server that answers names another owner, and
// of the other masters at least masters/2 name addr: with addr itself, a majority. A
// server that is silent confirms nothing. Servers that are no Cluster's, which the
// user's own options put together, make no replica master by themselves: for them it
// is always yes.
//
// Without a key it asks whether that server is a master of anything: so of one that was
// asked for a key whose hash slot is moving to it, which is another's until it has moved.
func StillMaster(ctx context.Context, rdb redis.UniversalClient, addr, key string) bool {
	c, many := rdb.(client)
	if !many {
		return true
	}
	slot := hashSlot(key)
	var mu sync.Mutex
	visited, masters, agree, otherwise, apart := 0, 0, 0, false, false
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	err := wait.For(ctx, func(ctx context.Context) error {
		return c.ForEachShard(ctx, func(ctx context.Context, server *redis.Client) error {
			own := server.Options().Addr
			if own == addr {
				return nil
			}
			mu.Lock()
			visited++
			mu.Unlock()
			view, err := server.WithTimeout(answerTimeout).ClusterSlots(ctx).Result()
			if err != nil { // a silent server confirms nothing
				mu.Lock()
				defer mu.Unlock()
				apart = apart || strings.Contains(err.Error(), "cluster support disabled")
				return nil
			}
			owner, others := readView(view, slot, own)
			if key == "" && others[addr] {
				owner = addr
			}
			mu.Lock()
			defer mu.Unlock()
			masters = max(masters, len(others))
			otherwise = otherwise || owner != addr
			if others[own] && owner == addr {
				agree++
			}
			return nil
		})
	})
	mu.Lock()
	defer mu.Unlock()
	if err == nil && (visited == 0 || apart) {
		return true // there is no other server to replace it
	}
	return masters > 0 && !otherwise && agree >= masters/2
}

// readView returns the master of a slot, and all masters, as a server sees them.
func readView(view []redis.ClusterSlot, slot int, from string) (owner string, masters map[string]bool) {
	masters = map[string]bool{}
	for _, some := range view {
		if len(some.Nodes) == 0 {
			continue
		}
		master := reachable(some.Nodes[0].Addr, from)
		masters[master] = true
		if some.Start <= slot && slot <= some.End {
			owner = master
		}
	}
	return owner, masters
}

// reachable is an address as the Cluster's client has it: one without a host, or
// that only its own machine can use, gets that of the server which named it.
func reachable(addr, from string) string {
	host, port, err := net.SplitHostPort(addr)
	origin, _, err2 := net.SplitHostPort(from)
	if err != nil || err2 != nil {
		return addr
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsLoopback() {
		host = origin
	}
	return net.JoinHostPort(host, port)
}

// hashSlot is the hash slot of a key: the CRC-16 (XMODEM) of its hash tag, or of all
// of it if it has none.
func hashSlot(key string) int {
	if _, rest, found := strings.Cut(key, "{"); found {
		if tag, _, found := strings.Cut(rest, "}"); found && tag != "" {
			key = tag
		}
	}
	crc := uint16(0)
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return int(crc % 16384)
}
