package commands

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

// deadReasons lists why messages are dead, the most frequent reason first. The limit of the query is that of reasons.
func (a *app) deadReasons(ctx context.Context, i *inspector.Inspector, topic string, q inspector.DeadQuery, now time.Time) error {
	limit := q.Limit
	q.Limit = 0
	all, err := i.DeadReasons(ctx, topic, q)
	if err := a.partly(err); err != nil {
		return err
	}
	total := 0
	for _, r := range all {
		total += r.Count
	}
	shown := all
	if limit > 0 {
		shown = all[:min(len(all), limit)]
	}
	_, err = show(a, list[inspector.Reason]{
		all: each(shown), heads: []string{"dead#", "latest", "content", "last error"},
		object: func(r inspector.Reason) any { return wire.ReasonOf(topic, r, a.base64) },
		row: func(r inspector.Reason) []any {
			return []any{words.Grouped(r.Count), humantime.Ago(now.Sub(r.Last)), a.text(r.Latest.Content), reasonText(r)}
		},
	})
	if err != nil || a.json {
		return err
	}
	if total == 0 {
		a.say("no dead message in %s%s", words.Legible(topic), a.whereLooked())
		return nil
	}
	more := ""
	if hidden := len(all) - len(shown); hidden > 0 {
		more = "; " + words.Count(hidden, "reason") + " more with --limit 0"
	}
	a.say("%s for %s%s", words.Count(total, "dead message"), words.Count(len(all), "reason"), more)
	return nil
}

// reasonText is a reason as people read it.
func reasonText(r inspector.Reason) string {
	switch {
	case r.Rest:
		return "(other reasons)"
	case r.Text == "":
		return "(not known)"
	}
	return words.Legible(r.Text)
}
