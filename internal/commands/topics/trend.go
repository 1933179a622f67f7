package topics

import (
	"fmt"
	"math"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// trend is how the counts of topics change from one look to the next. Redis does not know how many messages came and
// went: to count them would cost each turn something. So these are net changes. nil: it is a single look.
type trend struct {
	last    map[string]lookedAt
	changed []changeOf // at this look
}

type changeOf struct {
	topic string
	wire.Change
}

// lookedAt is what a topic held, and when.
type lookedAt struct {
	inspector.Counts
	at time.Time
}

// since returns how a topic has changed since the last look; nil if nothing is known of that, or a part of the topic could not be
// read.
func (t *trend) since(s inspector.Stats, now time.Time) *wire.Change {
	if t == nil {
		return nil
	}
	before, known := t.last[s.Topic.Name]
	if s.Read < s.Topic.Slots {
		delete(t.last, s.Topic.Name)
		return nil
	}
	t.last[s.Topic.Name] = lookedAt{s.Counts, now}
	over := now.Sub(before.at)
	if !known || over <= 0 {
		return nil
	}
	rate := func(before, now int) float64 { return math.Round(float64(now-before)/over.Seconds()*1000) / 1000 }
	c := wire.Change{
		Over:    wire.Millis(over),
		Waiting: rate(before.Waiting, s.Waiting), InFlight: rate(before.InFlight, s.InFlight),
		Retrying: rate(before.Retrying, s.Retrying), Dead: rate(before.Dead, s.Dead),
	}
	if c != (wire.Change{Over: c.Over}) {
		t.changed = append(t.changed, changeOf{s.Topic.Name, c})
	}
	return &c
}

// show prints the changes of the topics that have changed.
func (t *trend) show(p *frame.Page) {
	if t == nil || p.JSON {
		return
	}
	changed := t.changed
	t.changed = nil
	if changed == nil {
		return
	}
	table := p.Table("net change a second", "waiting#", "flight#", "retry#", "dead#")
	for _, c := range changed {
		dead := frame.Painted{Text: words.Signed(c.Dead)}
		if c.Dead > 0 {
			dead.Hue = frame.Red
		}
		table.Row(words.Legible(c.topic), words.Signed(c.Waiting), words.Signed(c.InFlight), words.Signed(c.Retrying), dead)
	}
	fmt.Fprintln(p.Out)
	table.End()
}
