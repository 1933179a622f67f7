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
