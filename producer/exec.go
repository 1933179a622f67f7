package producer

import (
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol/script"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// NoRetry on writes. go-redis repeats a command by itself after a broken connection. Then the second try answers "0
// new", and the first try is hidden: a message that was just stored would be reported as Merged, and one that may be
// there as refused. The producer repeats by itself and remembers that a try may have been executed.

// server is where commands go in one pipeline.
type server struct {
	redis.UniversalClient
	asking bool // for keys of a hash slot that is moving there
}

// executor sends commands to the servers that hold their keys.
type executor struct {
	*shared
	peers  cluster.Peers // where slots are moving
	doubts doubts        // whether a server is still the master
}

// exec sends the commands of a writer, and wake-ups behind them. It returns whether all
// commands came before the wake-ups: one that was redirected came later.
//
// On a Cluster they go to the server itself, not through the Cluster's client. That one
// sends commands without a key, PUBLISH and WAIT, to any server, and it may be one that
// hangs. So exec follows redirections itself.
func (e *executor) exec(to *writer, wakes []publication, writes []*write) (behind bool) {
	for _, x := range wakes {
		x.SetErr(errUnsent)
	}
	if len(writes) == 0 {
		if node, _, err := cluster.MasterFor(e.run, e.rdb, to.key); err == nil {
			e.pipeline(server{node, false}, wakes, nil)
		}
		return true
	}
	to.key = writes[0].lane.store()
	const hops = 5 // a forgotten script in a hash slot that is moving takes three
	for hop := 0; len(writes) > 0; hop++ {
		if hop == hops {
			for _, w := range writes {
				w.SetErr(fmt.Errorf("%w: the servers of the Cluster refer to each other for %s", errUnsent, w.lane.store()))
			}
			return false
		}
		servers := 0
		for at, same := range e.byServer(writes) {
			e.pipeline(at, wakes, same)
			wakes = nil
			servers++
		}
		writes = inOrder(writes, e.elsewhere)
		behind = hop == 0 && servers == 1 && len(writes) == 0
	}
	return behind
}

// byServer groups writes. Nearly always all go to one server.
func (e *executor) byServer(writes []*write) iter.Seq2[server, []*write] {
	for _, w := range writes {
		if w.at.UniversalClient != nil {
			continue
		}
		node, addr, err := cluster.MasterFor(e.run, e.rdb, w.lane.store())
		if err != nil {
			w.SetErr(fmt.Errorf("%w: %w", errUnsent, err))
			continue
		}
		w.at.UniversalClient, w.tried = node, addr
	}
	first := writes[0].at
	if first.UniversalClient != nil && !slices.ContainsFunc(writes, func(w *write) bool { return w.at != first }) {
		return func(yield func(server, []*write) bool) { yield(first, writes) }
	}
	groups := map[server][]*write{}
	for _, w := range writes {
		if w.at.UniversalClient != nil {
			groups[w.at] = append(groups[w.at], w)
		}
	}
	return maps.All(groups)
}

// pipeline sends commands to one server. With Durability it adds WAIT, which must be on
// the same connection, because it counts replicas for the writes of its own connection.
func (e *executor) pipeline(at server, wakes []publication, writes []*write) {
	cmds := make([]redis.Cmder, 0, len(wakes)+2*len(writes)+1)
	for i, w := range writes {
		if at.asking {
			cmds = append(cmds, redis.NewStatusCmd(e.run, "asking"))
		}
		cmds = append(cmds, w)
		if e.cfg.Journal != nil && (i+1 == len(writes) || writes[i+1].lane != w.lane) {
			cmds = e.number(cmds, at, writes[:i+1])
		}
	}
	for _, x := range wakes {
		x.SetErr(nil)
		cmds = append(cmds, x)
	}
	var wait *redis.IntCmd
	if e.cfg.Durability.Replicas > 0 && len(writes) > 0 {
		wait = redis.NewIntCmd(e.run, "wait", e.cfg.Durability.Replicas, e.cfg.Durability.Timeout.Milliseconds())
		cmds = append(cmds, wait)
	}
	if !cluster.IsCluster(e.rdb) {
		script.ExecOnce(e.run, at.UniversalClient, cmds...)
	} else {
		addr, begun := e.address(at), time.Now()
		stop := cluster.WhileSlow(e.run, e.rdb, func() { e.doubts.raise(addr) })
		script.ExecOnce(e.run, at.UniversalClient, cmds...)
		stop()
		if addr != "" {
			e.judge(addr, at.asking, time.Since(begun) > slowAnswer, writes)
		}
	}
	for _, w := range writes {
		w.underReplicated = wait != nil && (wait.Err() != nil || int(wait.Val()) < e.cfg.Durability.Replicas)
	}
}

// elsewhere reports whether a write must be sent again at once: its server redirects it to
// another one, or does not know the script. Exec could send the script, too, but in a
// second pipeline, after the WAIT.
func (e *executor) elsewhere(w *write) bool {
	if script.Unknown(w) {
		return true
	}
	addr, asking := redis.IsAskError(w.Err())
	if !asking {
		var moved bool
		if addr, moved = redis.IsMovedError(w.Err()); !moved {
			return false
		}
		cluster.NoteError(e.run, e.rdb, w.Err())
	}
	node := e.peers.At(addr, w.at.UniversalClient)
	if node == nil {
		return false
	}
	w.SetErr(nil)
	w.at = server{node, asking}
	return true
}
