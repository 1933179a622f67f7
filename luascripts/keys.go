package luascripts

import "strconv"

// Layout is the version of everything stored: keys, scores, and what the
// scripts keep in them. It is part of each topic's definition.
const Layout = 1

// TopicsKey names the set of all qualified topic names, so that nothing ever
// has to scan the key space.
const TopicsKey = "rmq:topics"

// Qualify puts a namespace in front of a topic's name. Every other function
// here takes the qualified name. An empty namespace gives the documented keys.
func Qualify(namespace, topic string) string {
	if namespace == "" {
		return topic
	}
	return namespace + ":" + topic
}

// StoreKey names the sorted set of what waits in one slot: orders_3.
func StoreKey(topic string, slot int) string { return topic + "_" + strconv.Itoa(slot) }

// DefinitionKey names the hash that holds the topic's definition.
func DefinitionKey(topic string) string { return "rmq:def{" + topic + "}" }

// WorkersKey names the sorted set of the topic's Redis-only members.
func WorkersKey(topic string) string { return "rmq:workers{" + topic + "}" }

// WakeChannel names the channel on which sends announce what they stored.
func WakeChannel(topic string) string { return "rmq:wake{" + topic + "}" }

// SlotKeys are the keys of one slot. The store is its own hash tag and the tag
// of the others, so a Redis Cluster keeps all of them together.
type SlotKeys struct {
	Store, Prepare, Retry, Dead, Meta, Why string
}

// KeysOf returns the keys of one slot.
func KeysOf(topic string, slot int) SlotKeys {
	store := StoreKey(topic, slot)
	tag := "{" + store + "}"
	return SlotKeys{
		Store: store, Prepare: "prepare" + tag, Retry: "retry" + tag,
		Dead: "dead" + tag, Meta: "meta" + tag, Why: "why" + tag,
	}
}
