package request

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
)

// MaxBatch is how many messages one request may have.
const MaxBatch = 1000

// Sending is what is asked to be sent: one message, or many.
type Sending struct {
	Topic
	Messages []Message
	Many     bool
}

// Message is one of them.
type Message struct {
	Line  int // in a stream
	Draft wire.Draft
	Err   error // why it could not be read
}

// of keeps a message that was read, or why it could not be.
func (m *Message) of(d wire.Draft, err error) {
	var field *wire.FieldError
	if err != nil && !errors.As(err, &field) {
		err = problem.BadRequest("%s", problem.Plain(err))
	}
	m.Draft, m.Err = d, err
}

// ReadLine reads a line of a stream.
func ReadLine(line int, text []byte) Message {
	m := Message{Line: line}
	m.of(wire.ReadMessage(text, wire.Draft{}, humantime.ParseStamp))
	return m
}

// ReadSending reads {"content": …} or {"messages": [{"content": …}, …]}, and what defines the topic beside it. The
// messages are read one by one: a wrong field of one is no error of the others, and there may not be more than are sent.
func ReadSending(text []byte) (*Sending, error) {
	if err := wire.Faithful(text); err != nil {
		return nil, problem.BadRequest("%v", err)
	}
	s := &Sending{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if t, err := d.Token(); err != nil {
		return nil, unreadable(err)
	} else if t != json.Delim('{') {
		return nil, problem.BadRequest("the body is not a JSON object")
	}
	rest := []byte{'{'} // the object without its messages
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return nil, unreadable(err)
		}
		if name == "messages" {
			if err := s.readMany(d); err != nil {
				return nil, err
			}
			continue
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, unreadable(err)
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		quoted, _ := json.Marshal(name) // it is a string
		rest = append(append(append(rest, quoted...), ':'), value...)
	}
	if _, err := d.Token(); err != nil {
		return nil, unreadable(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, problem.BadRequest("there is something behind the JSON object")
	}
	return s, s.readRest(append(rest, '}'))
}

// readMany reads the array of messages.
func (s *Sending) readMany(d *json.Decoder) error {
	if s.Many {
		return problem.BadRequest("messages is there twice")
	}
	s.Many = true
	t, err := d.Token()
	switch {
	case err != nil:
		return unreadable(err)
	case t != json.Delim('['):
		return problem.Invalid("messages", "something else", "an array of messages")
	}
	var m wire.Message
	for d.More() {
		if len(s.Messages) == MaxBatch {
			return problem.Invalid("messages", fmt.Sprintf("more than %d", MaxBatch), fmt.Sprintf("1 to %d messages; a stream of %s has no limit", MaxBatch, Stream))
		}
		var text json.RawMessage
		err := d.Decode(&text)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return unreadable(err)
		}
		s.Messages = append(s.Messages, Message{})
		read := &s.Messages[len(s.Messages)-1]
		m = wire.Message{}
		one := json.NewDecoder(bytes.NewReader(text))
		one.DisallowUnknownFields()
		if err := one.Decode(&m); err != nil {
			read.of(wire.Draft{}, wire.Plainer(err))
		} else if err := wire.Keys(text); err != nil {
			read.of(wire.Draft{}, err)
		} else {
			read.of(m.Draft(wire.Draft{}, humantime.ParseStamp))
		}
	}
	if len(s.Messages) == 0 {
		return problem.Invalid("messages", "empty", fmt.Sprintf("1 to %d messages", MaxBatch))
	}
	if _, err = d.Token(); err != nil {
		return unreadable(err)
	}
	return nil
}

// readRest reads the object without its messages.
func (s *Sending) readRest(text []byte) error {
	if s.Many {
		return Decode(text, &s.Topic) // a message beside messages has fields that are not known here
	}
	var one struct {
		wire.Message
		Topic
	}
	if err := Decode(text, &one); err != nil {
		return err
	}
	s.Topic, s.Messages = one.Topic, make([]Message, 1)
	s.Messages[0].of(one.Message.Draft(wire.Draft{}, humantime.ParseStamp))
	return nil
}

// Topic is what a request says about a topic. nil: nothing.
type Topic struct {
	Kind    *string `json:"kind"`
	Slots   *int    `json:"slots"`
	Literal *bool   `json:"literal"`
	Notes   *bool   `json:"notes"`
}

// Kinds is what a kind must be.
const Kinds = "range-merge, priority or fixed-time"

// Definition is the topic of a request: where that says nothing, as t.
func (asked Topic) Definition(t message.Topic) (message.Topic, error) {
	if asked.Kind != nil {
		kind, is := message.ParseKind(*asked.Kind)
		if !is {
			return t, problem.Invalid("kind", *asked.Kind, Kinds)
		}
		t.Kind = kind
	}
	if asked.Slots != nil {
		if t.Slots = *asked.Slots; t.Slots == 0 { // which a topic takes for what it has
			return t, problem.Invalid("slots", "0", "a power of two from 1 to 65536")
		}
	}
	if asked.Literal != nil {
		t.Literal = *asked.Literal
	}
	if asked.Notes != nil {
		t.Notes = *asked.Notes
	}
	return t, t.Validate()
}

// Differs is an error that names what differs from the definition of a topic, if
// anything does.
func Differs(is, asked message.Topic) error {
	for _, f := range [...]struct{ field, is, asked string }{
		{"kind", is.Kind.String(), asked.Kind.String()},
		{"slots", strconv.Itoa(is.Slots), strconv.Itoa(asked.Slots)},
		{"literal", strconv.FormatBool(is.Literal), strconv.FormatBool(asked.Literal)},
		{"notes", strconv.FormatBool(is.Notes), strconv.FormatBool(asked.Notes)},
	} {
		if f.is != f.asked {
			return problem.Differs(f.field, f.asked, f.is, fmt.Sprintf("{kind: %s, slots: %d, literal: %t, notes: %t}", is.Kind, is.Slots, is.Literal, is.Notes))
		}
	}
	return nil
}
