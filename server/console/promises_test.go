package console

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/testing/promises"
	"github.com/slotmq/go-rmq/server/console/internal/pages"
	"github.com/slotmq/go-rmq/server/internal/sessions"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	doc := promises.Of(t, "docs/CONSOLE.md")
	doc.Says("and pages that are open with it end within 15 s |", 15*time.Second, breath)
	doc.Says("and the doctor looks once a minute.", time.Minute, doctorEvery)
	doc.Says("and a read time-out of over 15 s.", 15*time.Second, breath)
	doc.Says("| 200 | pages that are followed live", 200, mostStreams)
	doc.Says("| 200 | topics on the first page", 200, mostTopics)
	doc.Says("| 4 | lists, searches and other things", 4, mostAsking)
	doc.Says("and 4 exports.", 4, mostAsking)
	doc.Says("and 4 exports. Others wait, for 15 s |", 15*time.Second, answerWithin)
	doc.Says("| 200 | rows of workers and their topics", 200, mostWorkers)
	doc.Says("| 10 s | to count what a requeue", 10*time.Second, answerWithin*2/3)
	doc.Says("| 50 | messages in a list.", 50, mostListed)
	doc.Says("The first 10,000 are compared with a pattern", 10_000, mostCompared)
	doc.Says("| 1,024 | slots on a map.", 1024, pages.MostCells)
	doc.Says("| 16,384 | slots of all topics together are asked", 16_384, mostAsked)
	doc.Says("| 2,000 | messages of a topic in each state", 2000, mostOfState)
	doc.Says("has a session for 12 hours,", 12*time.Hour, sessions.Lasts)
	doc.Says("| 64 KiB | of a content are shown |", 64<<10, longestWhole)
}

// Each change is a line in the log: who, what, which topic, how many.
func TestChangesAreLoggedWithTheirNumbers(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	for _, n := range []int{1, 3, 311} {
		v := &visit{
			Console: &Console{log: zap.New(core)}, asker: asker{who: "ann"}, ctx: t.Context(),
			w: httptest.NewRecorder(), r: httptest.NewRequest("GET", "/pause?topic=orders&all=1", nil),
		}
		if err := stopOrGo(v, "pause", func(context.Context, string, []int) (int, error) { return n, nil }); err != nil {
			t.Fatal(err)
		}
		line := logs.TakeAll()
		if len(line) != 1 {
			t.Fatalf("%d lines", len(line))
		}
		has := line[0].ContextMap()
		if has["by"] != "ann" || has["from"] != "192.0.2.1" || has["with"] != "all slots" || has["what"] != "pause" || has["topic"] != "orders" || has["count"] != int64(n) {
			t.Errorf("%d slots are paused, and the log says %v", n, has)
		}
	}
}
