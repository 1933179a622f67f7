package protocol

import (
	"strconv"
	"strings"
	"time"
)

// A wake-up is published on [WakeChannel] after messages were stored: pairs 'slot:ms'
// separated by spaces, where ms is the time until the earliest of them is due (0: now). It only
// saves waiting: if one gets lost, the consumers' safety look finds the messages.

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

// AppendQuestion adds a question to the holder of a slot: does it have the batch that is in
// flight there? The question stands alone in its payload. Older workers ignore it.
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

// AppendCancel asks the worker of a slot to look which messages of its batch are to be
// cancelled. It stands alone in its payload. Older workers ignore it.
func AppendCancel(payload []byte, slot int) []byte {
	return strconv.AppendInt(append(payload, cancel...), int64(slot), 10)
}

const cancel = "cancel:"

// ParseCancel reads the payload of AppendCancel.
func ParseCancel(payload string) (slot int, ok bool) { return parseSlot(payload, cancel) }

// AppendPlan says that the plans of a slot have changed. It stands alone in its payload. Older
// workers ignore it.
func AppendPlan(payload []byte, slot int) []byte {
	return strconv.AppendInt(append(payload, plan...), int64(slot), 10)
}

const plan = "plan:"

// ParsePlan reads the payload of AppendPlan.
func ParsePlan(payload string) (slot int, ok bool) { return parseSlot(payload, plan) }

func parseSlot(payload, word string) (slot int, ok bool) {
	rest, ok := strings.CutPrefix(payload, word)
	slot, err := strconv.Atoi(rest)
	return slot, ok && err == nil
}

// PolicyChanged is published on [WakeChannel] when the limit of a topic was set or ended. It
// stands alone in its payload. Older workers ignore it.
const PolicyChanged = "policy"

// ParseWake calls each for every slot of a payload. It ignores what it does not understand.
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
