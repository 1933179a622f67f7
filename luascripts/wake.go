package luascripts

import (
	"strconv"
	"strings"
	"time"
)

// A wake-up is published on [WakeChannel] after messages were stored: pairs
// 'slot:ms' separated by spaces, ms being the time until the earliest of them
// is due (0: now). It only saves waiting: one that gets lost is made up for by
// the consumers' safety look.

// AppendWake adds one slot to the payload of a wake-up.
func AppendWake(payload []byte, slot int, in time.Duration) []byte {
	if len(payload) > 0 {
		payload = append(payload, ' ')
	}
	payload = strconv.AppendInt(payload, int64(slot), 10)
	payload = append(payload, ':')
	ms := (in + time.Millisecond - 1).Milliseconds() // rounded up: a look before the time finds nothing
	return strconv.AppendInt(payload, max(0, ms), 10)
}

// AppendQuestion adds the question to the holder of a slot whether it carries the
// batch that is in flight there. It stands alone in its payload, and who does not
// know it passes it over.
func AppendQuestion(payload []byte, slot int, holder string) []byte {
	payload = append(payload, question...)
	payload = strconv.AppendInt(payload, int64(slot), 10)
	return append(append(payload, ':'), holder...)
}

const question = "held:"

// ParseQuestion reads the payload of a question.
func ParseQuestion(payload string) (slot int, holder string, ok bool) {
	rest, ok := strings.CutPrefix(payload, question)
	if !ok {
		return 0, "", false
	}
	index, holder, ok := strings.Cut(rest, ":")
	slot, err := strconv.Atoi(index)
	return slot, holder, ok && err == nil
}

// ParseWake calls each for every slot of a payload. What it does not
// understand it passes over.
func ParseWake(payload string, each func(slot int, in time.Duration)) {
	for pair := range strings.SplitSeq(payload, " ") {
		slot, ms, _ := strings.Cut(pair, ":")
		n, err1 := strconv.Atoi(slot)
		in, err2 := strconv.ParseInt(ms, 10, 64)
		if err1 == nil && err2 == nil {
			each(n, time.Duration(in)*time.Millisecond)
		}
	}
}
