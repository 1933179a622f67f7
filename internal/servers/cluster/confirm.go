package cluster

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// Standing is what the other servers of a Cluster say of one.
type Standing uint8

const (
	Unconfirmed Standing = iota // too few say that it has the key, or one says that another has it
	Failing                     // it has the key, and failed not long ago: a replica may be about to take its place
	Master                      // it has the key
)

// StandingOf asks the servers of a Cluster whether the one at addr has the key now. It
// does not ask that one itself: after it has stood still, it does not know yet whether it
// was replaced. It has the key if no server that answers names another owner, and of the
// other masters at least masters/2 name addr: with addr itself, a majority. A server that
// is silent confirms nothing. Servers that you have put together without a Cluster never
// make a replica master by themselves: for them it is always Master.
//
// Masters vote for a replica as long as they call its master failed, which they do for a while after
// that has gone on. Where the user may not ask them for that (CLUSTER NODES), nothing is Failing.
//
// Without a key it asks whether that server is a master of anything. This is for a server
// to which the key's hash slot is moving: until it has moved, the slot belongs to another
// one.
func StandingOf(ctx context.Context, rdb redis.UniversalClient, addr, key string) Standing {
	c, many := rdb.(client)
	if !many {
		return Master
	}
	o := opinions{addr: addr, key: key, slot: hashSlot(key)}
	ctx, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	err := wait.For(ctx, func(ctx context.Context) error { return c.ForEachShard(ctx, o.ask) })
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case err == nil && (o.visited == 0 || o.apart): // there is no other server to replace it
		return Master
	case o.masters == 0 || o.otherwise || o.agree < o.masters/2:
		return Unconfirmed
	case o.failing:
		return Failing
	}
	return Master
}

// opinions are what the servers of a Cluster say of one of them.
type opinions struct {
	addr, key string
	slot      int

	mu             sync.Mutex
	visited        int // servers
	masters, agree int
	otherwise      bool // one says that another has the key
	apart          bool // one is no server of a Cluster
	failing        bool
}

// ask asks a server. One that is silent confirms nothing, and is no error.
func (o *opinions) ask(ctx context.Context, server *redis.Client) error {
	own := server.Options().Addr
	if own == o.addr {
		return nil
	}
	server = server.WithTimeout(Patience)
	nodes, refused := server.ClusterNodes(ctx).Result() // before the view: a replica that is elected in between is in that
	view, err := server.ClusterSlots(ctx).Result()
	owner, masters := readView(view, o.slot, own)
	id, isMaster := masters[o.addr]
	if o.key == "" && isMaster {
		owner = o.addr
	}
	_, votes := masters[own]
	agrees, failing := votes && owner == o.addr, false
	if agrees {
		failing = mayBeReplaced(nodes, id)
		agrees = refused == nil || redis.HasErrorPrefix(refused, "NOPERM") // a silent server confirms nothing
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.visited++
	if err != nil {
		o.apart = o.apart || strings.Contains(err.Error(), "cluster support disabled")
		return nil
	}
	o.masters = max(o.masters, len(masters))
	o.otherwise = o.otherwise || owner != o.addr
	o.failing = o.failing || failing
	if agrees {
		o.agree++
	}
	return nil
}

// unfit are the flags of a replica that is not elected.
var unfit = []string{"fail", "noaddr", "handshake"}

// mayBeReplaced reports whether a server, by its list of nodes, calls the master with an id failed, and
// knows a replica of it.
func mayBeReplaced(nodes, id string) bool {
	failed, replica := false, false
	for line := range strings.Lines(nodes) {
		f := strings.Fields(line) // id, address, flags, its master, ...
		if len(f) < 4 {
			continue
		}
		flags := strings.Split(f[2], ",")
		failed = failed || f[0] == id && slices.Contains(flags, "fail")
		replica = replica || f[3] == id && !slices.ContainsFunc(flags, func(flag string) bool { return slices.Contains(unfit, flag) })
	}
	return failed && replica
}

// readView returns the master of a slot, and the ids of all masters, as a server sees them.
func readView(view []redis.ClusterSlot, slot int, from string) (owner string, masters map[string]string) {
	masters = map[string]string{}
	for _, some := range view {
		if len(some.Nodes) == 0 {
			continue
		}
		master := reachable(some.Nodes[0].Addr, from)
		masters[master] = some.Nodes[0].ID
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
