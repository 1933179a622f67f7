package story

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// note says how often a message was sent and when, when its time to live ends, and which
// headers it has.
func (s Style) note(n *inspector.Note, now time.Time) (all []Line) {
	if n == nil {
		return nil
	}
	sent := "once, " + humantime.Ago(now.Sub(n.Last))
	if n.Sends > 1 {
		sent = fmt.Sprintf("%d times, first %s, last %s", n.Sends, humantime.Ago(now.Sub(n.First)), humantime.Ago(now.Sub(n.Last)))
	}
	all = append(all, Line{"sent", sent})
	if left := n.Expires.Sub(now); !n.Expires.IsZero() {
		text := humantime.In(left)
		if left <= 0 {
			text = humantime.Ago(-left)
		}
		all = append(all, Line{"expires", text + " (" + s.Moment(n.Expires) + ")"})
	}
	var headers []string
	for _, key := range slices.Sorted(maps.Keys(n.Headers)) {
		value := words.Legible(n.Headers[key])
		if s.Hides {
			value = "hidden"
		}
		headers = append(headers, words.Legible(key)+": "+value)
	}
	if headers != nil {
		all = append(all, Line{"headers", strings.Join(headers, ", ")})
	}
	return all
}
