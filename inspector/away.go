package inspector

import (
	"context"
	"fmt"
	"slices"

	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/luascripts"
)

// away are the servers of a Cluster that did not answer the doctor. To ask them again for
// each thing that they hold would take minutes.
type away struct {
	i     *Inspector
	addrs map[string]bool
}

func (i *Inspector) away(servers []server) away {
	a := away{i, map[string]bool{}}
	for _, s := range servers {
		if s.err != nil {
			a.addrs[s.addr] = true
		}
	}
	return a
}

// holds tells which of them has a key; empty: none has it.
func (a away) holds(ctx context.Context, key string) (addr string) {
	if len(a.addrs) == 0 {
		return ""
	}
	_, addr, err := cluster.MasterFor(ctx, a.i.rdb, key)
	if err != nil || !a.addrs[addr] {
		return ""
	}
	return addr
}

// defined are the definitions that can be read, and what is hidden of the others.
func (a away) defined(ctx context.Context) (topics []definition, hidden []finding, err error) {
	if addr := a.holds(ctx, luascripts.TopicsKey); addr != "" {
		return nil, nil, fmt.Errorf("list topics in %s: server %s does not answer", luascripts.TopicsKey, addr)
	}
	names, err := a.i.names(ctx)
	if err != nil {
		return nil, nil, err
	}
	var there []string
	for _, name := range names {
		key := luascripts.DefinitionKey(a.i.qualified(name))
		if addr := a.holds(ctx, key); addr != "" {
			hidden = append(hidden, a.hides(name, key+" cannot be read", addr))
		} else {
			there = append(there, name)
		}
	}
	topics, err = a.i.definitions(ctx, there)
	return topics, hidden, err
}

// readable are the slots of a topic that servers which answer have.
func (a away) readable(ctx context.Context, t Topic) []int {
	return slices.DeleteFunc(allSlots(t), func(slot int) bool { return a.holds(ctx, a.i.keys(t, slot).Store) != "" })
}

// stats are those of the slots that can be read, and what is hidden of the others.
func (a away) stats(ctx context.Context, t Topic) (Stats, []finding, error) {
	var which []int
	var first, addr string // of those that are hidden
	for slot := range t.Slots {
		key := a.i.keys(t, slot).Store
		switch at := a.holds(ctx, key); {
		case at == "":
			which = append(which, slot)
		case addr == "":
			first, addr = key, at
		}
	}
	var hidden []finding
	if addr != "" {
		what := fmt.Sprintf("%s cannot be read, such as %s", plural(t.Slots-len(which), "slot"), first)
		hidden = append(hidden, a.hides(t.Name, what, addr))
	}
	sum, err := a.i.sum(ctx, t, which)
	switch {
	case err != nil:
	case t.Sharing == "redis" && a.holds(ctx, luascripts.WorkersKey(a.i.qualified(t.Name))) != "":
		sum.Workers = -1
	default:
		var s shares
		s, err = a.i.shares(ctx, t)
		sum.Workers = s.workers
	}
	return sum, hidden, err
}

func (a away) hides(topic, what, addr string) finding {
	return fail(fmt.Sprintf("topic %s: %s: server %s does not answer", topic, what, addr), "see connection")
}
