package wire

import (
	"slices"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// Missing is a part of a topic that could not be looked at: the answer is without it. rmq prints a Missed for each
// slot. An answer of the gateway is one object, so it puts them together in one Missing.
type Missing struct {
	Topic  string `json:"topic"`
	Slots  string `json:"slots,omitempty"` // as in 0-3, 7; none: what is stored of the topic as a whole
	Server string `json:"server,omitempty"`
	Error  string `json:"error"`
}

// mostMissing is how many errors of keys are listed one by one.
const mostMissing = 100

// MissingOf puts together what is missing for the same reason.
func MissingOf(all []inspector.Failed) (missing []Missing) {
	type part struct{ topic, server, err string }
	var parts []part
	slots := map[part][]int{}
	first := map[part]string{}
	for _, f := range all {
		why := words.OneLine(f.Err.Error())
		p := part{f.Topic, f.Server, why}
		switch { // of a server that does not answer the first error says it all
		case f.Server != "":
			p.err = ""
		case len(parts) >= mostMissing:
			p.err = "and others"
		}
		if _, met := first[p]; !met {
			parts, first[p] = append(parts, p), why
		}
		if f.Slot >= 0 {
			slots[p] = append(slots[p], f.Slot)
		}
	}
	for _, p := range parts {
		slices.Sort(slots[p])
		missing = append(missing, Missing{p.topic, Ranges(slices.Compact(slots[p])), p.server, first[p]})
	}
	return missing
}
