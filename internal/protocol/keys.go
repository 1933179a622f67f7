package protocol

import "strconv"

// Layout is the version of everything stored: keys, scores, and what the
// scripts keep in them. It is part of each topic's definition: a program refuses every other one.
const Layout = 1

// TopicsKey names the set of all qualified topic names. With it no program has to scan all
// keys.
const TopicsKey = "rmq:topics"

// Qualify puts a namespace in front of a topic's name. All other functions here take the
// qualified name. Without a namespace the keys are those in the documents.
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

// WorkersKey names the sorted set of the workers that share the topic's slots by Redis.
func WorkersKey(topic string) string { return "rmq:workers{" + topic + "}" }

// GoneKey names the sorted set of the last workers that ceased to share the topic's slots without a word, and until when each counted.
func GoneKey(topic string) string { return "rmq:gone{" + topic + "}" }

// TakersKey names the sorted set of the processes that take from the topic by package poll, and until when each counts.
func TakersKey(topic string) string { return "rmq:takers{" + topic + "}" }

// PolicyKey names the hash that holds the limit which a person has set to the topic's workers.
func PolicyKey(topic string) string { return "rmq:policy{" + topic + "}" }

// ProbingKey names the hash of the workers that only probe at the topic, and since when.
func ProbingKey(topic string) string { return "rmq:probing{" + topic + "}" }

// RunningKey names the sorted set of the handlers at the topic that have run for long, and until when each counts: see [Running].
func RunningKey(topic string) string { return "rmq:running{" + topic + "}" }

// WakeChannel names the channel on which sends announce what they stored, and all else is published that
// the workers of a topic are to know.
func WakeChannel(topic string) string { return "rmq:wake{" + topic + "}" }

// NearChannel names the one on which sends announce what they stored on one master of a Cluster. The
// slot is the lowest that the topic has there.
func NearChannel(topic string, slot int) string { return beside("rmq:wake", StoreKey(topic, slot)) }

// TraceKey names the hash in which module rmqotel keeps, if it is asked to, from which spans the
// contents of a slot were sent. No script here uses it.
func TraceKey(topic string, slot int) string { return "trace{" + StoreKey(topic, slot) + "}" }

// FirstKey names the sorted set of the contents of a slot whose time moves with each send: since
// when each waits.
func FirstKey(topic string, slot int) string { return beside("first", StoreKey(topic, slot)) }

// SeenKey names the sorted set of the contents of a slot that were sent as unique ones: until when
// another one is a duplicate.
func SeenKey(topic string, slot int) string { return beside("seen", StoreKey(topic, slot)) }

// NoteKey names the hash of what is kept of the sends of each content of a slot: see [Note].
// Only topics with notes have it.
func NoteKey(topic string, slot int) string { return beside("note", StoreKey(topic, slot)) }

// TickKey names the mark by which a journal sees whether one of the servers has forgotten anything. No
// script here uses it.
func TickKey(journal int64, n int) string {
	return "rmq:tick:" + strconv.FormatInt(journal, 36) + "{" + strconv.Itoa(n) + "}"
}

// beside names a key by that of the store, which is its hash tag.
func beside(what, store string) string { return what + "{" + store + "}" }

// PlanKey names the sorted set of the plans of a slot: when each occurs next.
func PlanKey(topic string, slot int) string { return KeysOf(topic, slot).Plans(false).Plan }

// RuleKey names the hash of the rules by which the plans of a slot go on.
func RuleKey(topic string, slot int) string { return KeysOf(topic, slot).Plans(false).Rule }

// PlansKey names the set of the slots of a topic that may have plans.
func PlansKey(topic string) string { return "rmq:plans{" + topic + "}" }

// EndedKey names the sorted set of the plans of a topic that somebody has ended: name -> when. It is
// there for an hour, so that no program that has declared such a plan takes it for lost.
func EndedKey(topic string) string { return "rmq:ended{" + topic + "}" }

// SlotKeys are the keys of one slot. The store's name is the hash tag of the others, so a Redis
// Cluster keeps all of them together.
type SlotKeys struct {
	Store, Prepare, Retry, Dead, Meta, Why string
}

// Note is the key of the slot's notes, as [NoteKey] names it.
func (k SlotKeys) Note() string { return beside("note", k.Store) }

// Seen is the [SeenKey] of the slot.
func (k SlotKeys) Seen() string { return beside("seen", k.Store) }

// KeysOf returns the keys of one slot.
func KeysOf(topic string, slot int) SlotKeys {
	store := StoreKey(topic, slot)
	tag := "{" + store + "}"
	return SlotKeys{
		Store: store, Prepare: "prepare" + tag, Retry: "retry" + tag,
		Dead: "dead" + tag, Meta: "meta" + tag, Why: "why" + tag,
	}
}

// OfSlot returns the names of all keys that one slot may have, also of those that no script here
// uses: for a program that deletes a topic, or measures it.
func OfSlot(topic string, slot int) []string {
	k := KeysOf(topic, slot)
	return []string{
		k.Store, k.Prepare, k.Retry, k.Dead, k.Meta, k.Why,
		FirstKey(topic, slot), SeenKey(topic, slot), NoteKey(topic, slot), PlanKey(topic, slot), RuleKey(topic, slot), TraceKey(topic, slot),
	}
}

// OfTopic returns the names of the keys that a topic may have besides those of its slots.
func OfTopic(topic string) []string {
	return []string{DefinitionKey(topic), WorkersKey(topic), GoneKey(topic), PolicyKey(topic), ProbingKey(topic), RunningKey(topic), PlansKey(topic), EndedKey(topic), TakersKey(topic)}
}
