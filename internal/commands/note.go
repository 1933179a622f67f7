package commands

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/humantime"
)

// labelled is a line of what is said about a message.
type labelled struct{ label, text string }

// noteLines say how often a message was sent and when, when its time to live ends, and which
// headers it has.
func noteLines(n *inspector.Note, now time.Time) (all []labelled) {
	if n == nil {
		return nil
	}
	sent := "once, " + humantime.Ago(now.Sub(n.Last))
	if n.Sends > 1 {
		sent = fmt.Sprintf("%d times, first %s, last %s", n.Sends, humantime.Ago(now.Sub(n.First)), humantime.Ago(now.Sub(n.Last)))
	}
	all = append(all, labelled{"sent", sent})
	if left := n.Expires.Sub(now); !n.Expires.IsZero() {
		text := humantime.In(left)
		if left <= 0 {
			text = humantime.Ago(-left)
		}
		all = append(all, labelled{"expires", text + " (" + moment(n.Expires) + ")"})
	}
	var headers []string
	for _, key := range slices.Sorted(maps.Keys(n.Headers)) {
		headers = append(headers, legible(key)+": "+legible(n.Headers[key]))
	}
	if headers != nil {
		all = append(all, labelled{"headers", strings.Join(headers, ", ")})
	}
	return all
}
