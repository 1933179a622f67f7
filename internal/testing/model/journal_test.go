package model

import (
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

func readWithSend(o *Options) { o.Journaling = ReadWithSend }
func readBehind(o *Options)   { o.Journaling = ReadBehind }

// journals are the two ways in which a journal learns the slot's number of a send.
var journals = []func(*Options){readWithSend, readBehind}

// TestJournal: by the numbers of the sends and of the batches, a journal knows what is owed, in
// whatever order reports, crashes, takeovers and repetitions come.
func TestJournal(t *testing.T) {
	seed := uint64(sharetest.Seed(t))
	for _, c := range cells() {
		for _, journal := range journals {
			o := WideOptions(c.kind, c.zooKeeper)
			journal(&o)
			steps, walks := 0, scaled(10_000, 300)
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

// TestJournalExhaustive visits the states of small worlds in which a content is sent twice.
func TestJournalExhaustive(t *testing.T) {
	exhausted := 0
	for _, c := range cells() {
		for _, journal := range journals {
			o := searchOptions(c)
			journal(&o)
			found := exhaust(t, o, scaled(2_500_000, 30_000))
			if found.Complete {
				exhausted++
			}
			if found.States < scaled(500_000, 30_000) {
				t.Errorf("only %d states", found.States)
			}
		}
	}
	if !raceDetector && exhausted < 6 {
		t.Errorf("only %d spaces were visited whole", exhausted)
	}
}
