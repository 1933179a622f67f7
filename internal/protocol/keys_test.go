package protocol_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol"
)

// A change here is a change of the protocol: servers in use hold these keys.
func TestKeys(t *testing.T) {
	t.Parallel()
	orders := protocol.KeysOf("orders", 3)
	qualified := protocol.Qualify("ns", "orders")
	inNamespace := protocol.KeysOf(qualified, 3)
	for _, c := range []struct{ got, want string }{
		{orders.Store, "orders_3"},
		{orders.Prepare, "prepare{orders_3}"},
		{orders.Retry, "retry{orders_3}"},
		{orders.Dead, "dead{orders_3}"},
		{orders.Meta, "meta{orders_3}"},
		{orders.Why, "why{orders_3}"},
		{protocol.StoreKey("orders", 3), "orders_3"},
		{protocol.StoreKey("a_b_1", 1023), "a_b_1_1023"},
		{protocol.TraceKey("orders", 3), "trace{orders_3}"},
		{protocol.FirstKey("orders", 3), "first{orders_3}"},
		{protocol.SeenKey("orders", 3), "seen{orders_3}"},
		{protocol.NoteKey("orders", 3), "note{orders_3}"},
		{protocol.PlanKey("orders", 3), "plan{orders_3}"},
		{protocol.RuleKey("orders", 3), "rule{orders_3}"},
		{protocol.TopicsKey, "rmq:topics"},
		{protocol.DefinitionKey("orders"), "rmq:def{orders}"},
		{protocol.WorkersKey("orders"), "rmq:workers{orders}"},
		{protocol.PolicyKey("orders"), "rmq:policy{orders}"},
		{protocol.PlansKey("orders"), "rmq:plans{orders}"},
		{protocol.WakeChannel("orders"), "rmq:wake{orders}"},

		{protocol.Qualify("", "orders"), "orders"},
		{qualified, "ns:orders"},
		{inNamespace.Store, "ns:orders_3"},
		{inNamespace.Prepare, "prepare{ns:orders_3}"},
		{inNamespace.Retry, "retry{ns:orders_3}"},
		{inNamespace.Dead, "dead{ns:orders_3}"},
		{inNamespace.Meta, "meta{ns:orders_3}"},
		{inNamespace.Why, "why{ns:orders_3}"},
		{protocol.TraceKey(qualified, 3), "trace{ns:orders_3}"},
		{protocol.DefinitionKey(qualified), "rmq:def{ns:orders}"},
		{protocol.WorkersKey(qualified), "rmq:workers{ns:orders}"},
		{protocol.PolicyKey(qualified), "rmq:policy{ns:orders}"},
		{protocol.WakeChannel(qualified), "rmq:wake{ns:orders}"},
	} {
		if c.got != c.want {
			t.Errorf("%q, not %q", c.got, c.want)
		}
	}
	if protocol.Layout != 1 {
		t.Errorf("the layout is %d: say so in the protocol", protocol.Layout)
	}
}

// Whoever needs all keys of a topic gets all: those that the functions of keys.go name, and the fields of
// SlotKeys.
func TestAllKeysAreListed(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("keys.go")
	if err != nil {
		t.Fatal(err)
	}
	count := func(pattern string) int { return len(regexp.MustCompile(pattern).FindAll(source, -1)) }
	ofSlot, ofTopic := protocol.OfSlot("orders", 3), protocol.OfTopic("orders")
	perSlot := count(`(?m)^func \w+Key\(topic string, slot int\) string`) - 1 // SlotKeys has the store
	if want := perSlot + reflect.TypeFor[protocol.SlotKeys]().NumField(); len(ofSlot) != want || want < 7 {
		t.Errorf("OfSlot has %d of the %d keys of a slot", len(ofSlot), want)
	}
	if want := count(`(?m)^func \w+Key\(topic string\) string`); len(ofTopic) != want || want < 4 {
		t.Errorf("OfTopic has %d of the %d keys of a topic", len(ofTopic), want)
	}
	all := slices.Sorted(slices.Values(slices.Concat(ofSlot, ofTopic)))
	if n := len(slices.Compact(all)); n != len(ofSlot)+len(ofTopic) {
		t.Errorf("some are there twice: %q", all)
	}
}

// In a Redis Cluster the keys of a slot have to be on one node.
func TestKeysShareTheirHashSlot(t *testing.T) {
	t.Parallel()
	for _, topic := range []string{
		"orders", "a_1", "1", "_", " ", "with space", "注文", "a:b", "ns:orders", "x.y-z", "\xff", strings.Repeat("long", 50), "a%", "#", "rmq:def",
	} {
		for _, slot := range []int{0, 3, 1023, 65535} {
			store := protocol.StoreKey(topic, slot)
			for _, key := range protocol.OfSlot(topic, slot) {
				if home := hashSlot(store); hashSlot(key) != home {
					t.Errorf("%q is in hash slot %d, %q in %d", key, hashSlot(key), store, home)
				}
			}
		}
		for _, key := range protocol.OfTopic(topic) {
			if hashSlot(key) != hashSlot(topic) {
				t.Errorf("%q is not in the hash slot of topic %q", key, topic)
			}
		}
	}
	// Known from the Redis Cluster specification and from CLUSTER KEYSLOT.
	for key, want := range map[string]uint16{"123456789": 0x31c3, "order_3": 11451, "prepare{order_3}": 11451, "prepare{order3}": 2221, "a{b}_3": 3300} {
		if got := hashSlot(key); got != want {
			t.Errorf("hash slot of %q is %d, not %d", key, got, want)
		}
	}
}

// hashSlot is Redis Cluster's: CRC16 (XMODEM) of the tag, or of the whole key,
// modulo 16384.
func hashSlot(key string) uint16 {
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if length := strings.IndexByte(key[open+1:], '}'); length > 0 {
			key = key[open+1 : open+1+length]
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			high := crc&0x8000 != 0
			crc <<= 1
			if high {
				crc ^= 0x1021
			}
		}
	}
	return crc % 16384
}
