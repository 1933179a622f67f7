package journaltest

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/message"
)

func TestRowsAreWritten(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		j := p.open(t, journal.Config{Flow: journal.All})
		must.Do(t, j.Ready())
		odd := "order \x00\xff %d 世界"
		j.Sent([]*record.Sends{{Topic: orders, Slot: 3, Number: 7, Items: []record.SentItem{
			{Content: odd, Score: 17, Keeps: true, Note: `5 {"a":"b"}`},
			{Content: "merged", Keeps: true, Merged: true},
		}}}, behind)
		e := end(message.Done, 8, odd)
		e.Items = append(e.Items, message.Item{What: message.Failed, Content: "x", Attempt: 2, Reason: "no \x00\xff"},
			message.Item{What: message.Overtaken, Content: "y"}, message.Item{What: message.Sent, Content: "z"})
		j.Observe(e)
		j.Observe(end(message.Dropped, 9, "late"))
		j.Observe(end(message.Cancelled, 0, "by hand"))
		j.Observe(end(message.Deleted, 0, "by hand"))
		closed(t, j)

		if n := p.number(t, "SELECT COUNT(*) FROM rmq_sent WHERE slot = 3 AND number = 7 AND score = 17 AND keeps = 1 AND note = '5 {\"a\":\"b\"}'"); n != 1 {
			t.Errorf("%d rows", n)
		}
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_sent"); n != 1 {
			t.Errorf("%d rows: what has changed nothing was written, too", n)
		}
		if got := p.texts(t, "SELECT content FROM rmq_sent"); got[0] != odd {
			t.Errorf("content %q", got)
		}
		if got := strings.Join(p.texts(t, "SELECT what FROM rmq_ended ORDER BY id"), " "); got != "done failed overtaken dropped cancelled deleted" {
			t.Errorf("what: %s", got)
		}
		if n := p.number(t, "SELECT COUNT(*) FROM rmq_writer WHERE closed > 0 AND flushed >= began"); n != 1 {
			t.Errorf("%d writers", n)
		}
		if ids := p.number(t, "SELECT MAX(s.id) FROM rmq_sent s") - p.number(t, "SELECT MIN(e.id) FROM rmq_ended e"); ids >= 0 {
			t.Errorf("the send has a larger id than its end, by %d", ids)
		}
	})
}

// A writer with nothing to write says that it is alive, and up to what time all is
// written.
func TestIdleWriterTellsThatItLives(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		j := p.open(t, journal.Config{Lag: time.Millisecond})
		j.Sent(sends(1, "order"), behind)
		await.True(t, "the writer is known", func() bool { return p.number(t, "SELECT COUNT(*) FROM rmq_writer") == 1 })
		first := p.number(t, "SELECT flushed FROM rmq_writer")
		await.True(t, "it says again that it lives", func() bool { return p.number(t, "SELECT flushed FROM rmq_writer") > first })
		status, err := j.Status(ctx)
		must.Do(t, err)
		if len(status.Writers) != 1 || !status.Writers[0].Alive || status.Behind > await.Patience {
			t.Errorf("%+v", status)
		}
		closed(t, j)
	})
}

// Without Wait no send waits, and the rows of a Lag are one transaction.
func TestRowsOfALagAreOneTransaction(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p *place) {
		j := p.open(t, journal.Config{Lag: time.Minute})
		told := 0
		for range 100 {
			j.Sent(sends(1, "order"), func(err error) {
				must.Do(t, err)
				told++
			})
		}
		if told != 100 {
			t.Errorf("%d were told", told)
		}
		closed(t, j)
		if n := p.number(t, "SELECT flushes FROM rmq_writer"); n != 1 {
			t.Errorf("%d transactions", n)
		}
	})
}

// A journal works off the log of its file while it is written, and not in the middle of a commit.
func TestLogIsWorkedOff(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "SQLite", true)
	j := p.open(t, journal.Config{Lag: time.Millisecond})
	_, path, _ := strings.Cut(p.url, ":")
	size := func() int64 {
		info, err := os.Stat(path)
		must.Do(t, err)
		return info.Size()
	}
	for round := range 3 { // also behind others
		before := size()
		for i := range 500 {
			j.Sent(sends(1, fmt.Sprint("order ", round, i, strings.Repeat("x", 100))), behind)
		}
		await.True(t, "the file grows", func() bool { return size() > before+500*100 })
	}
}
