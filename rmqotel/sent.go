package rmqotel

import (
	"strconv"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// sends are those that one delivery is for: the first and the last of those that merged, and
// how many did. remember.lua writes them.
type sends struct {
	first, last trace.SpanContext
	count       int64
}

// sendsOf reads what is kept for a content: up to two copies of it, the last first. The copy
// that a batch has was sent before the batch was taken, when the slot's fence was smaller than
// that of the batch. Of two such copies the last one has taken the place of the other.
func sendsOf(kept string, fence int64) sends {
	words := strings.Fields(kept)
	for ; len(words) >= 4; words = words[4:] {
		stamp, err := strconv.ParseInt(words[0], 10, 64)
		count, err2 := strconv.ParseInt(words[3], 10, 64)
		if err != nil || err2 != nil {
			break
		}
		if stamp < fence {
			return sends{first: spanOf(words[1]), last: spanOf(words[2]), count: count}
		}
	}
	return sends{}
}

// links returns one link, or two if several sends merged.
func (s sends) links() []trace.Link {
	var all []trace.Link
	if s.first.IsValid() {
		all = append(all, trace.Link{SpanContext: s.first})
	}
	if s.last.IsValid() && !s.last.Equal(s.first) {
		all = append(all, trace.Link{SpanContext: s.last})
	}
	return all
}

// traceparent writes a span's context as W3C Trace Context does; empty if there is no span.
func traceparent(c trace.SpanContext) string {
	if !c.IsValid() {
		return ""
	}
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + (c.TraceFlags() & trace.FlagsSampled).String()
}

// spanOf reads it.
func spanOf(traceparent string) trace.SpanContext {
	parts := strings.Split(traceparent, "-")
	if len(parts) != 4 {
		return trace.SpanContext{}
	}
	id, err := trace.TraceIDFromHex(parts[1])
	span, err2 := trace.SpanIDFromHex(parts[2])
	if err != nil || err2 != nil {
		return trace.SpanContext{}
	}
	c := trace.SpanContextConfig{TraceID: id, SpanID: span, Remote: true}
	if parts[3] == "01" {
		c.TraceFlags = trace.FlagsSampled
	}
	return trace.NewSpanContext(c)
}
