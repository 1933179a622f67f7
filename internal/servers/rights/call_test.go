package rights

import (
	"context"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// Every call that Redis is asked about has as many words as the command takes at least: repaired servers judge no other.
func TestCallsAreComplete(t *testing.T) {
	t.Parallel()
	known, err := servertest.Redis(t).Client(t).Command(context.Background()).Result()
	if err != nil {
		t.Fatal(err)
	}
	asked := map[string]bool{}
	for _, n := range []Need{{}, {Worker: true}, {Changes: true}, {Plans: true}, {Restores: true}, {Worker: true, Takes: true, Extends: true, Unique: true, Journal: true}} {
		for _, notes := range []bool{false, true} {
			for _, command := range append(commandsOf(n.keys([]Topic{{Name: "orders", Slots: 4, Notes: notes}})), "publish", "subscribe", "spublish", "ssubscribe") {
				asked[command] = true
				arity := int(known[command].Arity)
				if n := len(call(command, "name")); arity == 0 || arity > 0 && n != arity || n < -arity {
					t.Errorf("%s is asked about with %d words, and takes %d", command, n, arity)
				}
			}
		}
	}
	for command := range least {
		if !asked[command] {
			t.Errorf("%s is never asked about", command)
		}
	}
}
