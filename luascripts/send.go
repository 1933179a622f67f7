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

// SendFields are what messages of a call of send.lua have besides score and content.
type SendFields uint8

// The fields, in the order in which they stand behind the content.
const (
	SendCeiling SendFields = 1 << iota // in ms; the score is then the range in ms. "" without
	SendUnique                         // for how many ms. "" without
	SendNote                           // see [NoteArg]; of every message of a topic with notes
)

// sendFields are the fields by their letters, and the keys that they need.
var sendFields = []struct {
	field  SendFields
	letter string
	keys   []string
}{
	{SendCeiling, "C", []string{"first"}},
	{SendUnique, "U", []string{"seen"}},
	{SendNote, "N", []string{"note", "meta"}},
}

// SendArgs begins the arguments of a call of send.lua for one store. Append for each message its
// score, its content, and the fields in their order. What waits already keeps its score, or with
// last takes the new one. most is how many contents may wait, 0 for any number.
//
// Without fields, the reply is how many were stored, and the places of those that were refused:
// the first message has place 1. With fields it is two integers for each message: a [SendOutcome],
// and the score with which it waits, or for a duplicate the score of what waits, or 0.
func (s *Scripts) SendArgs(store string, fields SendFields, last bool, most int) []any {
	rule := "first"
	if last {
		rule = "last"
	}
	if fields == 0 {
		return append(sendScript.Call(1, 4), store, rule, most, "")
	}
	keys, letters := []any{store}, ""
	for _, f := range sendFields {
		if fields&f.field == 0 {
			continue
		}
		letters += f.letter
		for _, name := range f.keys {
			keys = append(keys, beside(name, store))
		}
	}
	args := append(sendScript.Call(len(keys), len(keys)+3), keys...)
	return append(args, rule, most, letters)
}

// SendOutcome is what became of one message of [Scripts.SendArgs] with fields.
type SendOutcome int64

// The outcomes.
const (
	SendDuplicate SendOutcome = iota - 2 // an equal unique one was sent within its time: nothing is stored
	SendRefused                          // the slot is full
	SendMerged
	SendStored
)
