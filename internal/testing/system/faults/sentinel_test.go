package faults

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// The master of a Sentinel group dies under load. Nobody restarts or tells the
// clients anything.
func TestFaultMasterOfASentinelGroup(t *testing.T) {
	t.Parallel()
	t.Log("figures: " + figuresHead)
	g := servertest.Sentinel(t)
	on := onSentinel(t, g)
	none := newTraffic(t, on, "master killed, Sentinel", waitNone).begin()
	one := newTraffic(t, on, "master killed, Sentinel", waitOne, replicated(1)).begin()
	master := g.Master(t)
	none.harm()
	one.harm()
	master.Kill()
	if g.Master(t) == master { // waits for the promotion
		t.Fatal("the killed master still serves")
	}
	none.flows(60)
	master.Restart(t)
	g.AwaitReady(t)
	none.flows(60)
	one.flows(60) // there is a replica to wait for again
	none.figures()
	one.figures().kept()
}
