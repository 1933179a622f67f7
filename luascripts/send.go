package luascripts

import (
	_ "embed"

	"github.com/slotmq/go-rmq/internal/script"
)

var (
	//go:embed add.lua
	addSource string
	addScript = script.New(addSource)

	//go:embed send.lua
	sendSource string
	sendScript = script.New(sendSource)
)

// AddArgs begins the arguments of a call of add.lua for one store. Append for each message its score
// and its content. What waits already keeps its score, or with last takes the new one. most is how many
// contents may wait, 0 for any number.
//
// The reply is how many were stored, and the places of those that were refused: the first message has
// place 1.
func (s *Scripts) AddArgs(store string, last bool, most int) []any {
	return append(addScript.Call(1, 3), store, ruleOf(last), most)
}

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

// SendArgs is [Scripts.AddArgs] for messages of which some have fields, by send.lua. Append behind each
// content its fields, in their order.
//
// The reply is two integers for each message: a [SendOutcome], and the score with which it waits, or for
// a duplicate the score of what waits, or 0.
func (s *Scripts) SendArgs(store string, fields SendFields, last bool, most int) []any {
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
	if fields&SendCeiling != 0 {
		keys = append(keys, beside("prepare", store))
	}
	args := append(sendScript.Call(len(keys), len(keys)+3), keys...)
	return append(args, ruleOf(last), most, letters)
}

// ruleOf is the word by which the scripts know which of two sends has its way.
func ruleOf(last bool) string {
	if last {
		return "last"
	}
	return "first"
}

// SendOutcome is what became of one message of [Scripts.SendArgs].
type SendOutcome int64

// The outcomes.
const (
	SendDuplicate SendOutcome = iota - 2 // an equal unique one was sent within its time: nothing is stored
	SendRefused                          // the slot is full
	SendMerged
	SendStored
)
