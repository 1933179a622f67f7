package luascripts

import (
	_ "embed"

	"github.com/slotmq/go-rmq/internal/script"
)

var (
	//go:embed send.lua
	sendSource string
	sendScript = script.New(sendSource)
)

// SendArgs begins the arguments of a call of send.lua for one store. Append pairs of score and
// content. A message that waits already keeps its score, or with last takes the new one; most
// is how many contents may wait, 0 for any number.
//
// The reply is a list of integers: how many were stored, and the places of those that were
// refused; the first pair is 1.
func (s *Scripts) SendArgs(store string, last bool, most int) []any {
	return append(sendScript.Call(1, 4), store, sendRule(last), most, 2)
}

// SendEachArgs is SendArgs for messages that may have a ceiling. Append score, content and ""
// for each; for one with a ceiling its range in ms, content and the ceiling in ms.
//
// The reply is two integers for each message: a [SendOutcome], and the score it waits with.
func (s *Scripts) SendEachArgs(store, first string, last bool, most int) []any {
	return append(sendScript.Call(2, 5), store, first, sendRule(last), most, 3)
}

func sendRule(last bool) string {
	if last {
		return "last"
	}
	return "first"
}

// SendOutcome is what became of one message of [Scripts.SendEachArgs].
type SendOutcome int64

// The outcomes.
const (
	SendRefused SendOutcome = iota - 1 // the slot is full
	SendMerged
	SendStored
)
