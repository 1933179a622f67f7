package journal

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/internal/record"
	"github.com/slotmq/go-rmq/internal/servers/wait"
)

// What follows is for programs that compare the journal with Redis: see package journal/recovery.

// Topics are all topics that the journal knows, in the order in which it met them.
func (j *Journal) Topics(ctx context.Context) ([]ledger.Topic, error) {
	kept, err := j.topicsKept(ctx)
	if err != nil {
		return nil, j.dialect.advise("topics", err)
	}
	all := make([]ledger.Topic, len(kept))
	for i, k := range kept {
		t, err := topicOf(k.name, k.definition)
		if err != nil {
			return nil, fmt.Errorf("journal: topics: %w", err)
		}
		all[i] = ledger.Topic{Topic: t, ID: k.id}
	}
	return all, nil
}

// Numbers are the slots of a topic that the journal knows, each with the largest number of it: that
// of a send or of a batch, or of an effect of Once. It reads all rows of the topic.
func (j *Journal) Numbers(ctx context.Context, t ledger.Topic) (map[int]int64, error) {
	all := map[int]int64{}
	known := "MAX(CASE WHEN number < " + strconv.FormatInt(record.UnknownNumber, 10) + " THEN number ELSE 0 END)"
	for _, of := range []struct {
		text  string
		topic any
	}{
		{"SELECT slot, " + known + " FROM rmq_sent WHERE topic = ? GROUP BY slot", t.ID},
		{"SELECT slot, " + known + " FROM rmq_ended WHERE topic = ? AND what <> '" + ledger.Gone + "' GROUP BY slot", t.ID},
		{"SELECT slot, MAX(fence) FROM rmq_once WHERE topic = ? GROUP BY slot", t.Name},
	} {
		err := j.query(ctx, func(rows *sql.Rows) error {
			var slot int
			var number int64
			err := rows.Scan(&slot, &number)
			all[slot] = max(all[slot], number)
			return err
		}, of.text, of.topic)
		if err != nil {
			return nil, j.dialect.advise("numbers", err)
		}
	}
	return all, nil
}

// Walk shows all contents of a slot with what is known of them, in pages of at most 500: each content
// whole, and none twice. What is written meanwhile may be seen or not; an end is never seen
// without the sends it settles.
func (j *Journal) Walk(ctx context.Context, t ledger.Topic, slot int, show func([]ledger.History) error) error {
	var shown error
	err := j.walk(ctx, t.ID, slot, func(page []entry) error {
		shown = show(histories(slot, page))
		return shown
	})
	if err == nil || shown != nil {
		return shown
	}
	return j.dialect.advise("walk", err)
}

// Look tells what is known of some contents of a slot, 500 at most, in their order. It is zero for one
// of which nothing is.
func (j *Journal) Look(ctx context.Context, t ledger.Topic, slot int, contents []string) ([]ledger.History, error) {
	if len(contents) == 0 {
		return nil, nil
	}
	hashes, args := make([]ledger.Hash, len(contents)), make([]any, len(contents))
	for i, content := range contents {
		hashes[i] = ledger.HashOf(content)
		args[i] = hashes[i][:]
	}
	found, err := j.entries(ctx, t.ID, slot, "hash IN (?"+strings.Repeat(", ?", len(contents)-1)+")", args...)
	if err != nil {
		return nil, j.dialect.advise("look", err)
	}
	known := map[ledger.Hash]ledger.History{}
	for i, h := range histories(slot, found) {
		known[found[i].hash] = h
	}
	all := make([]ledger.History, len(contents))
	for i, hash := range hashes {
		all[i] = known[hash]
	}
	return all, nil
}

// Slots are those of a topic with sends, in order.
func (j *Journal) Slots(ctx context.Context, t ledger.Topic) ([]int, error) {
	all, err := j.slots(ctx, t.ID)
	return all, j.dialect.advise("slots", err)
}

func histories(slot int, of []entry) []ledger.History {
	all := make([]ledger.History, len(of))
	for i, e := range of {
		all[i] = ledger.History{Slot: slot, Sent: e.sent, Ended: e.ended, Verdict: e.verdict()}
	}
	return all
}

// clocksApart is by how much the clocks of machines may differ without harm.
const clocksApart = time.Second

// Flushed waits until all that living processes had told when it was called is in SQL. A process that
// does nothing writes every 5 s that it lives. It waits up to patience, and returns how many
// processes it has waited for in vain: they are dead, or SQL does not take their rows.
func (j *Journal) Flushed(ctx context.Context, patience time.Duration) (late int, err error) {
	began := time.Now()
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, 500*time.Millisecond) {
		var s ledger.Status
		if err := j.readWriters(ctx, &s); err != nil {
			return 0, j.dialect.advise("wait for other programs", err)
		}
		late = 0
		own := !j.idle() // also where it has never written, and is none of the writers yet
		for _, w := range s.Writers {
			written := !w.Flushed.Before(began.Add(clocksApart))
			switch {
			case w.ID == j.writer:
				own = own && !written
			case w.Alive && !written:
				late++
			}
		}
		if own {
			late++
		}
		if left := patience - time.Since(began); late == 0 || left <= 0 {
			return late, nil
		} else if !wait.Sleep(ctx, min(pause, left)) {
			return late, ctx.Err()
		}
	}
}

// idle reports whether this process holds no rows.
func (j *Journal) idle() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.held == 0
}
