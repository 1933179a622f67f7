package model

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

func readWithSend(o *Options) { o.Journaling = ReadWithSend }
func readBehind(o *Options)   { o.Journaling = ReadBehind }

// journals are the two ways in which a journal learns the slot's number of a send.
var journals = []func(*Options){readWithSend, readBehind}

// TestJournal: by the numbers of the sends and of the batches, a journal knows what is owed, in
// whatever order reports, crashes, takeovers and repetitions come.
func TestJournal(t *testing.T) {
	t.Parallel()
	seed := uint64(sharetest.Seed(t))
	for _, c := range cells() {
		for _, journal := range journals {
			o := WideOptions(c.kind, c.zooKeeper)
			journal(&o)
			steps, walks := 0, night.Times(3_000, 10_000)
			for n := range uint64(walks) {
				took, trace := Walk(o, seed, n)
				steps += took
				if trace != nil {
					trace.shrink()
					t.Fatalf("%v, walk %d of RMQ_SEED=%d: %v", &o, n, seed, trace)
				}
			}
			t.Logf("%-22v journal %d: %d walks, %d steps", &o, o.Journaling, walks, steps)
		}
	}
}

// TestJournalExhaustive visits the states of small worlds in which a content is sent twice: by day
// without faults where there are leases, and all of them.
func TestJournalExhaustive(t *testing.T) {
	t.Parallel()
	exhausted := 0
	for _, c := range cells() {
		for _, journal := range journals {
			o := searchOptions(c)
			journal(&o)
			switch {
			case night.Is():
			case c.zooKeeper:
				o.Max.Ticks = 1
			default:
				o.Max.Faults, o.Max.Ticks = 0, 3
			}
			found := exhaust(t, o, 2_500_000)
			if found.Complete {
				exhausted++
			}
			if found.States < night.Times(50_000, 500_000) {
				t.Errorf("only %d states", found.States)
			}
		}
	}
	if exhausted < night.Times(12, 6) {
		t.Errorf("only %d spaces were visited whole", exhausted)
	}
}
