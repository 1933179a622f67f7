package journal

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/slotmq/go-rmq/internal/ledger"
	"github.com/slotmq/go-rmq/message"
)

// counter is the name of the row of rmq_state that numbers the rows of all tables.
const counter = "id"

// ends are the words for the items of events that are the end of a message.
var ends = map[message.What]string{
	message.Done: ledger.Done, message.Died: ledger.Dead, message.Dropped: ledger.Dropped, message.Cancelled: ledger.Cancelled, message.Deleted: ledger.Deleted,
}

// flow are the words for what happens on the way.
var flow = map[message.What]string{
	message.Taken: ledger.Taken, message.Failed: ledger.Failed, message.Snoozed: ledger.Snoozed, message.HandedBack: ledger.HandedBack, message.Overtaken: ledger.Overtaken,
}

// definition is what rmq_topic keeps of a topic besides its name.
type definition struct {
	Kind    string `json:"kind"`
	Literal bool   `json:"literal"`
	Notes   bool   `json:"notes"`
	Slots   int    `json:"slots"`
}

func definitionOf(t message.Topic) string {
	text, _ := json.Marshal(definition{t.Kind.String(), t.Literal, t.Notes, t.Slots}) // never an error
	return string(text)
}

// topicOf reads a row of rmq_topic.
func topicOf(name, text string) (message.Topic, error) {
	var d definition
	err := json.Unmarshal([]byte(text), &d)
	kind, _ := message.ParseKind(d.Kind)
	t := message.Topic{Name: name, Kind: kind, Slots: d.Slots, Literal: d.Literal, Notes: d.Notes}
	if err == nil {
		err = t.Validate()
	}
	if err != nil {
		return t, fmt.Errorf("rmq_topic has %q for topic %s, which this program cannot read: %w", text, name, err)
	}
	return t, nil
}

// plain makes a text one that every database takes.
func plain(text string) string {
	for i := range len(text) {
		if c := text[i]; c == 0 || c >= 0x80 {
			return strings.ReplaceAll(strings.ToValidUTF8(text, "�"), "\x00", "�")
		}
	}
	return text
}

func itoa(n int) string { return strconv.Itoa(n) }
