package rights

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
)

// topicsAtOnce are asked about together, so that no server is kept busy for long.
const topicsAtOnce = 50

// Check reports what the user of rdb must still be granted for the topics: everything at
// once. With very many topics it reports everything for the first ones that lack something.
// A worker, or who restores, uses all servers of a Cluster and asks each of them, since each
// has its own users. A producer asks the one that holds the definition of its topic, because
// it must not wait for others.
func Check(ctx context.Context, rdb redis.UniversalClient, n Need, topics ...Topic) error {
	many := cluster.IsCluster(rdb)
	for some := range slices.Chunk(topics, topicsAtOnce) {
		question := func(ctx context.Context, server redis.UniversalClient) error {
			return n.check(ctx, server, some, many)
		}
		var err error
		if n.Worker || n.Restores {
			err = cluster.Ask(ctx, rdb, question)
		} else {
			var server redis.UniversalClient
			if server, _, err = cluster.MasterFor(ctx, rdb, protocol.DefinitionKey(topics[0].Name)); err == nil {
				err = question(ctx, server)
			}
		}
		if err != nil {
			names := make([]string, len(some))
			for i, t := range some {
				names[i] = t.Name
			}
			return fmt.Errorf("rights to topic %s: %w", strings.Join(names, ", "), Explain(err, User(rdb)))
		}
	}
	return nil
}

// check asks one server: at first about what is needed, and, if something of it is
// missing, about everything that shows why.
func (n Need) check(ctx context.Context, server redis.UniversalClient, topics []Topic, many bool) error {
	plain, keys := n.plain(many), n.keys(topics)
	calls := slices.Clone(plain)
	for _, t := range topics {
		for _, c := range n.channels(t, many) {
			calls = append(calls, call(c.publish, c.name))
			if n.Worker {
				calls = append(calls, call(c.subscribe, c.name))
			}
		}
	}
	for _, k := range keys {
		for _, command := range k.commands {
			calls = append(calls, call(command, k.name))
		}
	}
	may, err := protocol.New(server).Rights(ctx, calls)
	if redis.HasErrorPrefix(err, "Invalid command") {
		return nil // a server of its own kind; what it does not know it will refuse
	}
	if err != nil || !slices.Contains(may, false) {
		return err
	}
	lacks, err := n.lacks(ctx, server, topics, many, plain, keys)
	if err != nil || lacks == nil {
		return err
	}
	slices.SortFunc(lacks, func(a, b string) int { // commands, keys, channels
		return cmp.Or(strings.IndexByte("+~&", a[0])-strings.IndexByte("+~&", b[0]), strings.Compare(a, b))
	})
	return fmt.Errorf("Redis user %s lacks rights: %s; see %s", User(server), strings.Join(slices.Compact(lacks), ", "), document)
}

// lacks are the rights that are missing.
func (n Need) lacks(ctx context.Context, server redis.UniversalClient, topics []Topic, many bool, plain [][]string, keys []key) ([]string, error) {
	commands := commandsOf(keys)
	calls := slices.Clone(plain)
	var all []channel
	for _, t := range topics {
		for _, c := range n.channels(t, many) {
			all = append(all, c)
			calls = append(calls, call(c.publish, c.name), call(c.subscribe, c.name))
		}
	}
	// Access control ignores types, so every command is tried on every key. If a command
	// fails on all of them, the right to the command is missing.
	for _, command := range commands {
		for _, k := range keys {
			calls = append(calls, call(command, k.name))
		}
	}
	may, err := protocol.New(server).Rights(ctx, calls)
	if err != nil || may == nil {
		return nil, err
	}
	var lacks []string
	for i, call := range plain {
		if !may[i] {
			lacks = append(lacks, rightTo(call))
		}
	}
	channels, matrix := may[len(plain):len(plain)+2*len(all)], may[len(plain)+2*len(all):]
	lacks = append(lacks, diagnose(keys, commands, func(c, k int) bool { return matrix[c*len(keys)+k] }, may[0])...)
	for i, c := range all {
		lacks = append(lacks, n.channelRights(ctx, server, c, channels[2*i], channels[2*i+1])...)
	}
	return lacks, nil
}

// document lists all rights.
const document = "docs/DEPLOYMENT.md"

// commandsOf are the commands used on any of the keys, in order.
func commandsOf(keys []key) []string {
	var all []string
	for _, k := range keys {
		all = append(all, k.commands...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// diagnose finds the right that each failing use of a key lacks. A command that fails
// on every key is missing, and so is a key on which every command fails. If nothing
// works at all: where commands without a key are granted, most likely the keys were
// forgotten; otherwise perhaps both.
func diagnose(keys []key, commands []string, may func(command, key int) bool, plainWorks bool) []string {
	forbidden, closed := make([]bool, len(commands)), make([]bool, len(keys))
	for c := range commands {
		forbidden[c] = none(len(keys), func(k int) bool { return may(c, k) })
	}
	for k := range keys {
		closed[k] = none(len(commands), func(c int) bool { return may(c, k) })
	}
	if plainWorks && !slices.Contains(closed, false) {
		clear(forbidden)
	}
	var lacks, apart []string
	for c, command := range commands {
		if forbidden[c] {
			lacks = append(lacks, "+"+command)
		}
	}
	for k, key := range keys {
		if closed[k] {
			lacks = append(lacks, "~"+key.pattern)
			continue
		}
		for c, command := range commands {
			if !forbidden[c] && !may(c, k) && slices.Contains(key.commands, command) {
				apart = append(apart, "+"+command+" on ~"+key.pattern)
			}
		}
	}
	return append(lacks, apart...)
}

// none reports whether something is true of none of 0 to n-1.
func none(n int, is func(i int) bool) bool {
	for i := range n {
		if is(i) {
			return false
		}
	}
	return true
}

// channelRights are those to a channel of wake-ups that are missing.
func (n Need) channelRights(ctx context.Context, server redis.UniversalClient, c channel, publish, subscribe bool) []string {
	subscribe = subscribe || !n.Worker
	switch {
	case publish && subscribe:
		return nil
	case publish: // so the channel is granted
		return []string{"+" + c.subscribe}
	}
	// Redis says which of the two is missing when it refuses a command outright. If the
	// right has been granted in the meantime, an empty wake-up does no harm.
	err := server.Do(ctx, c.publish, c.name, "").Err()
	if command(err) == "" {
		return []string{"&" + c.pattern}
	}
	lacks := []string{"+" + c.publish}
	if !subscribe {
		lacks = append(lacks, "+"+c.subscribe, "&"+c.pattern) // either of them, or both
	}
	return lacks
}
