package message_test

import (
	"errors"
	"fmt"

	"github.com/slotmq/go-rmq/message"
)

// Validate says which field is wrong before anything is sent.
func ExampleTopic_Validate() {
	err := message.Topic{Name: "jobs", Kind: message.KindPriority, Slots: 10}.Validate()
	fmt.Println(errors.Is(err, message.ErrInvalid))
	fmt.Println(err)
	// Output:
	// true
	// Topic.Slots is 10; it must be a power of two from 1 to 65536, or 0 for what the topic has
}

// The names of the kinds, such as in a configuration file.
func ExampleParseKind() {
	for _, name := range []string{"fixed-time", "priority", "fifo"} {
		kind, known := message.ParseKind(name)
		fmt.Println(name, known, known && kind.Timed())
	}
	// Output:
	// fixed-time true true
	// priority true false
	// fifo false false
}
