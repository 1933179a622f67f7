package console

import (
	"net/url"
	"strconv"

	"github.com/slotmq/go-rmq/internal/words"
)

// doneTexts are what forms have done, by the word in the address that they lead to.
var doneTexts = map[string]string{
	"unlimit":         "The limit is over.",
	"limit":           "The topic is limited. Workers know within a few seconds.",
	"cancelled":       "The message is cancelled: it will not be handled.",
	"cancelled-asked": "The message is cancelled. A copy of it is being handled: its handler is asked to stop.",
	"asked":           "The message is being handled: its handler is asked to stop.",
	"nowhere":         "Nothing to cancel: the message is not here any more.",
	"rescheduled":     "The message has its new time or priority.",
	"plan-stopped":    "The plan is stopped. What it has sent already is delivered.",
	"plan-gone":       "There is no such plan any more.",
}

// doneText is what the last form has done, by a word and a number in the address that it has led to. The address
// cannot make a page say anything else.
func doneText(q url.Values) string {
	n, _ := strconv.Atoi(q.Get("n"))
	switch done := q.Get("done"); {
	case done == "pause" && n == 0:
		return "Nothing to do: they were paused already."
	case done == "pause":
		return words.Count(n, "slot") + " paused. What is in flight is finished."
	case done == "resume" && n == 0:
		return "Nothing to do: none was paused."
	case done == "resume":
		return words.Count(n, "slot") + " resumed."
	default:
		return doneTexts[done]
	}
}
