package journal

import (
	"math/rand/v2"
	"testing"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
)

// What is compacted away must change no verdict, neither that of now nor one of later.
func TestNeedlessRowsChangeNoVerdict(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(uint64(sharetest.Seed(t)), 0))
	removed := 0
	for range 20_000 {
		e, id, number, compacted := &entry{}, int64(0), int64(3), false
		add := func() {
			id++
			late := int64(random.IntN(2))
			if compacted { // nothing older than that is told any more
				late = 0
			}
			switch p := random.IntN(10); {
			case p < 6:
				n := number - late
				if p == 0 {
					n = record.UnknownNumber
				}
				s := ledger.Sent{ID: id, Number: n, At: id - late, Score: id, Keeps: random.IntN(2) == 0, Content: "c"}
				if random.IntN(4) == 0 {
					s.Note = []string{"7", `0 {"a":"b"}`, "9000"}[random.IntN(3)]
				}
				e.sent = append(e.sent, s)
			case p < 9:
				number++
				what := []string{ledger.Done, ledger.Done, ledger.Dead, ledger.Dropped, ledger.Failed}[random.IntN(5)]
				e.ended = append(e.ended, ledger.Ended{ID: id, At: id, What: what, Number: number - late})
			case random.IntN(2) == 0:
				e.ended = append(e.ended, ledger.Ended{ID: id, At: id - 2*late, What: []string{ledger.Cancelled, ledger.Deleted}[random.IntN(2)]})
			default:
				e.ended = append(e.ended, ledger.Ended{ID: id, At: id, What: ledger.Gone, Number: id - int64(random.IntN(3))})
			}
		}
		for range 1 + random.IntN(8) {
			add()
		}
		sent, ended := e.needless(1 + random.Int64N(id+1))
		compacted = true
		removed += len(sent) + len(ended)
		gone := map[int64]bool{}
		for _, id := range append(sent, ended...) {
			gone[id] = true
		}
		for later := range 5 {
			less := &entry{}
			for _, s := range e.sent {
				if !gone[s.ID] {
					less.sent = append(less.sent, s)
				}
			}
			for _, x := range e.ended {
				if !gone[x.ID] {
					less.ended = append(less.ended, x)
				}
			}
			all, rest := e.verdict(), less.verdict()
			if (all.What == ledger.Owed || all.What == ledger.Dead || rest.What == ledger.Owed || rest.What == ledger.Dead) &&
				(all.What != rest.What || all.Score != rest.Score || all.Expires != rest.Expires || all.Headers != rest.Headers) {
				t.Fatalf("%d rows later:\n%+v\n%+v\nall  %+v\nleft %+v\nremoved %v %v", later, e.sent, e.ended, all, rest, sent, ended)
			}
			add()
		}
	}
	if removed < 1000 {
		t.Errorf("only %d rows were removed", removed)
	}
}
