package luascripts_test

import (
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/luascripts"
)

// A change here is a change of the protocol: servers in use hold these keys.
func TestKeys(t *testing.T) {
	t.Parallel()
	orders := luascripts.KeysOf("orders", 3)
	qualified := luascripts.Qualify("ns", "orders")
	inNamespace := luascripts.KeysOf(qualified, 3)
	for _, c := range []struct{ got, want string }{
		{orders.Store, "orders_3"},
		{orders.Prepare, "prepare{orders_3}"},
		{orders.Retry, "retry{orders_3}"},
		{orders.Dead, "dead{orders_3}"},
		{orders.Meta, "meta{orders_3}"},
		{orders.Why, "why{orders_3}"},
		{luascripts.StoreKey("orders", 3), "orders_3"},
		{luascripts.StoreKey("a_b_1", 1023), "a_b_1_1023"},
		{luascripts.TraceKey("orders", 3), "trace{orders_3}"},
		{luascripts.FirstKey("orders", 3), "first{orders_3}"},
		{luascripts.SeenKey("orders", 3), "seen{orders_3}"},
		{luascripts.NoteKey("orders", 3), "note{orders_3}"},
		{luascripts.PlanKey("orders", 3), "plan{orders_3}"},
		{luascripts.RuleKey("orders", 3), "rule{orders_3}"},
		{luascripts.TopicsKey, "rmq:topics"},
		{luascripts.DefinitionKey("orders"), "rmq:def{orders}"},
		{luascripts.WorkersKey("orders"), "rmq:workers{orders}"},
		{luascripts.PolicyKey("orders"), "rmq:policy{orders}"},
		{luascripts.PlansKey("orders"), "rmq:plans{orders}"},
		{luascripts.WakeChannel("orders"), "rmq:wake{orders}"},

		{luascripts.Qualify("", "orders"), "orders"},
		{qualified, "ns:orders"},
		{inNamespace.Store, "ns:orders_3"},
		{inNamespace.Prepare, "prepare{ns:orders_3}"},
		{inNamespace.Retry, "retry{ns:orders_3}"},
		{inNamespace.Dead, "dead{ns:orders_3}"},
		{inNamespace.Meta, "meta{ns:orders_3}"},
		{inNamespace.Why, "why{ns:orders_3}"},
		{luascripts.TraceKey(qualified, 3), "trace{ns:orders_3}"},
		{luascripts.DefinitionKey(qualified), "rmq:def{ns:orders}"},
		{luascripts.WorkersKey(qualified), "rmq:workers{ns:orders}"},
		{luascripts.PolicyKey(qualified), "rmq:policy{ns:orders}"},
		{luascripts.WakeChannel(qualified), "rmq:wake{ns:orders}"},
	} {
		if c.got != c.want {
			t.Errorf("%q, not %q", c.got, c.want)
		}
	}
	if luascripts.LayoutOf(false) != 1 || luascripts.LayoutOf(true) != 2 {
		t.Errorf("layout %d, with notes %d: tell it in the protocol", luascripts.LayoutOf(false), luascripts.LayoutOf(true))
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
	ofSlot, ofTopic := luascripts.OfSlot("orders", 3), luascripts.OfTopic("orders")
	perSlot := count(`(?m)^func \w+Key\(topic string, slot int\) string`) - 1 // SlotKeys has the store
	if want := perSlot + reflect.TypeFor[luascripts.SlotKeys]().NumField(); len(ofSlot) != want || want < 7 {
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
			store := luascripts.StoreKey(topic, slot)
			for _, key := range luascripts.OfSlot(topic, slot) {
				if home := hashSlot(store); hashSlot(key) != home {
					t.Errorf("%q is in hash slot %d, %q in %d", key, hashSlot(key), store, home)
				}
			}
		}
		for _, key := range luascripts.OfTopic(topic) {
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
