package rights

import (
	"strings"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// Need is what a program wants to do.
type Need struct {
	Worker  bool // handles messages and sends them; otherwise it only sends
	Changes bool // sends messages, and cancels, reschedules and explains them
	Plans   bool // sends messages, and sets, ends and lists plans
	Durable bool // waits for replicas
	Extends bool // sends range merges that extend
	Unique  bool // sends unique messages
	Journal bool // journals what it sends

	Takes bool // takes batches for others, besides what a worker does

	Restores bool // brings messages back; it sends none
}

// Topic is the topic it wants to do that with.
type Topic struct {
	Name  string // with its namespace
	Slots int
	Notes bool
}

// key is one of a topic's, or stands for all of its kind.
type key struct {
	name     string
	pattern  string // as ACL SETUSER wants it, without the ~
	commands []string
}

// keys are those used, each with the commands used on it.
func (n Need) keys(topics []Topic) []key {
	all := []key{{protocol.TopicsKey, protocol.TopicsKey, words("sadd sismember")}}
	if n.Changes {
		all[0].commands = append(all[0].commands, "sscan")
	}
	for _, t := range topics {
		all = append(all, n.keysOf(t)...)
	}
	return all
}

func (n Need) keysOf(t Topic) []key {
	// One slot stands for all. The last has a name as long as any.
	k := protocol.KeysOf(t.Name, t.Slots-1)
	slot := glob(t.Name) + "_*"
	all := []key{{k.Store, slot, words("zadd zcard zmscore")}}
	switch {
	case n.Restores:
		all = restoring(k, slot)
	case n.Changes:
		all = changing(t, k, slot)
	case n.Plans:
		all = append(all, planning(t, slot, "sadd sismember sscan", "zadd zmscore zrem zscore", "hdel hget hmget hscan hset")...)
		all = append(all, key{protocol.EndedKey(t.Name), protocol.EndedKey(glob(t.Name)), words("pexpire zadd zrem zremrangebyscore zscore")})
	case n.Worker:
		all = append(working(t, k, slot), planning(t, slot, "smembers", "zadd zrange zrem zscore", "hget")...)
	}
	all = append(all, key{protocol.DefinitionKey(t.Name), protocol.DefinitionKey(glob(t.Name)), words("hdel hmget hset")})
	if n.Takes {
		all = append(all, key{protocol.TakersKey(t.Name), protocol.TakersKey(glob(t.Name)), words("pexpire zadd zcard zrem zremrangebyscore")})
	}
	if n.Extends {
		all = append(all, key{protocol.FirstKey(t.Name, t.Slots-1), "first{" + slot + "}", words("zadd zcard zmscore zrange zrem")}, key{k.Prepare, "prepare{" + slot + "}", words("zcard zmscore")})
	}
	if n.Unique || n.Changes {
		seen := key{protocol.SeenKey(t.Name, t.Slots-1), "seen{" + slot + "}", words("zrem")}
		if n.Unique {
			seen.commands = append(seen.commands, words("zadd zmscore zrangebyscore")...)
		}
		if n.Changes {
			seen.commands = append(seen.commands, "zscore")
		}
		all = append(all, seen)
	}
	if n.Journal && !n.Worker && !t.Notes {
		all = append(all, key{k.Meta, "meta{" + slot + "}", words("hget")})
	}
	if t.Notes {
		all = append(all, n.noteKeys(k, slot)...)
	}
	return all
}

// noteKeys are the keys that the notes of a slot need.
func (n Need) noteKeys(k protocol.SlotKeys, slot string) []key {
	note, meta := key{k.Note(), "note{" + slot + "}", words("hmget hset")}, key{k.Meta, "meta{" + slot + "}", words("hget")}
	switch {
	case n.Restores:
		note.commands = words("hdel hlen hset")
	case n.Changes:
		note.commands = append(note.commands, words("hdel hget")...)
	case n.Worker:
		note.commands = append(note.commands, words("hdel hget hscan")...)
		return []key{{k.Prepare, "prepare{" + slot + "}", words("zmscore")}, {k.Retry, "retry{" + slot + "}", words("zmscore")}, note, meta}
	}
	return []key{note, meta}
}

// working are the keys for sending and handling.
func working(t Topic, k protocol.SlotKeys, slot string) []key {
	return []key{
		{k.Store, slot, words("zadd zcard zscore exists zcount zmscore zrange zrangebyscore zrem zremrangebyrank zrevrange")},
		{k.Prepare, "prepare{" + slot + "}", words("del exists zadd zcard zrange zscore")},
		{k.Retry, "retry{" + slot + "}", words("exists zadd zcard zcount zrange zrangebyscore zrem")},
		{k.Dead, "dead{" + slot + "}", words("exists zadd zcard zmscore zrangebyscore zscore")},
		{k.Meta, "meta{" + slot + "}", words("hdel hget hmget hset")},
		{k.Why, "why{" + slot + "}", words("hdel hget hlen hmget hset")},
		{protocol.WorkersKey(t.Name), protocol.WorkersKey(glob(t.Name)), words("zadd zrange zrem")},
		{protocol.GoneKey(t.Name), protocol.GoneKey(glob(t.Name)), words("pexpire zadd zcard zrem zremrangebyrank")},
		{protocol.PolicyKey(t.Name), protocol.PolicyKey(glob(t.Name)), words("hmget")},
		{protocol.ProbingKey(t.Name), protocol.ProbingKey(glob(t.Name)), words("hdel hset pexpire")},
		{protocol.RunningKey(t.Name), protocol.RunningKey(glob(t.Name)), words("pexpire zadd zrange zrem")},
	}
}

// planning are the keys of plans, each with the commands used on it.
func planning(t Topic, slot, plans, plan, rule string) []key {
	return []key{
		{protocol.PlansKey(t.Name), protocol.PlansKey(glob(t.Name)), words(plans)},
		{protocol.PlanKey(t.Name, t.Slots-1), "plan{" + slot + "}", words(plan)},
		{protocol.RuleKey(t.Name, t.Slots-1), "rule{" + slot + "}", words(rule)},
	}
}

// changing are the keys for sending, cancelling, rescheduling and explaining.
func changing(t Topic, k protocol.SlotKeys, slot string) []key {
	return []key{
		{k.Store, slot, words("zadd zcard zmscore zscore zcount zrange zrank zrem")},
		{k.Prepare, "prepare{" + slot + "}", words("zcard zrange zscore")},
		{k.Retry, "retry{" + slot + "}", words("zadd zcard zcount zrange zrem zscore")},
		{k.Dead, "dead{" + slot + "}", words("zcard zrange zscore")},
		{k.Meta, "meta{" + slot + "}", words("hdel hmget hset")},
		{k.Why, "why{" + slot + "}", words("hdel hget")},
		{protocol.WorkersKey(t.Name), protocol.WorkersKey(glob(t.Name)), words("zrange")},
		{protocol.TakersKey(t.Name), protocol.TakersKey(glob(t.Name)), words("zrange")},
		{protocol.RunningKey(t.Name), protocol.RunningKey(glob(t.Name)), words("zrange")},
		{protocol.ProbingKey(t.Name), protocol.ProbingKey(glob(t.Name)), words("hmget")},
	}
}

// restoring are the keys for bringing messages back.
func restoring(k protocol.SlotKeys, slot string) []key {
	return []key{
		{k.Store, slot, words("zadd zmscore")},
		{k.Prepare, "prepare{" + slot + "}", words("zcard zmscore")},
		{k.Retry, "retry{" + slot + "}", words("zmscore")},
		{k.Dead, "dead{" + slot + "}", words("zadd zmscore")},
		{k.Meta, "meta{" + slot + "}", words("hget hset")},
		{k.Why, "why{" + slot + "}", words("hlen hset")},
	}
}

// channel is one on which wake-ups of a topic are published, with the commands for it.
type channel struct{ name, pattern, publish, subscribe string }

// channels are those of a topic. What is brought back is announced to all masters.
func (n Need) channels(t Topic, cluster bool) []channel {
	name := protocol.WakeChannel(glob(t.Name))
	all := []channel{{protocol.WakeChannel(t.Name), name, "publish", "subscribe"}}
	if cluster && !n.Restores {
		all = append(all, channel{protocol.NearChannel(t.Name, t.Slots-1), strings.TrimSuffix(name, "}") + "_*}", "spublish", "ssubscribe"})
	}
	return all
}

// plain are the calls without keys and channels, in the form in which Redis judges
// them. The client of a Cluster also asks for its slots and about commands, and follows
// slots that move.
func (n Need) plain(cluster bool) [][]string {
	all := [][]string{words("time"), {"eval", "", "0"}}
	if n.Worker {
		all = append(all, words("ping"))
	}
	if n.Durable {
		all = append(all, words("wait 0 0"))
	}
	if cluster {
		all = append(all, words("asking"), words("command"), words("cluster slots"))
	}
	return all
}

// rightTo is the right that a call without keys needs.
func rightTo(call []string) string {
	if call[0] == "cluster" {
		return "+cluster|" + call[1]
	}
	return "+" + call[0]
}

func words(s string) []string { return strings.Fields(s) }

// glob makes a pattern that fits one name. Redis takes no spaces in patterns.
func glob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, ` `, `?`).Replace(name)
}
