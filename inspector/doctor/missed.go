package doctor

import (
	"fmt"

	"github.com/slotmq/go-rmq/inspector/internal/ask"
)

// missed are findings about what could not be looked at. Those of one topic at one silent server are one
// finding.
func missed(failed []ask.Failed) []finding {
	type part struct{ topic, server string }
	var all []finding
	var parts []part
	slots := map[part][]int{}
	for _, one := range failed {
		if one.Server == "" {
			all = append(all, fail(ask.OneLine(one.Err), "mend what it says; rmq verify shows more"))
			continue
		}
		p := part{one.Topic, one.Server}
		if _, met := slots[p]; !met {
			parts, slots[p] = append(parts, p), nil
		}
		if one.Slot >= 0 {
			slots[p] = append(slots[p], one.Slot)
		}
	}
	for _, p := range parts {
		what := "its definition or its workers cannot be read"
		if n := len(slots[p]); n > 0 {
			what = fmt.Sprintf("%s cannot be read, such as slot %d", ask.Plural(n, "slot"), slots[p][0])
		}
		all = append(all, fail(fmt.Sprintf("topic %s: %s: server %s does not answer", p.topic, what, p.server), "see connection"))
	}
	return all
}
