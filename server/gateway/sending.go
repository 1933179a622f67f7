package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/wire"
)

// sending is what is asked to be sent: one message, or many.
type sending struct {
	defining
	items []item
	many  bool
}

// readSending reads {"content": …} or {"messages": [{"content": …}, …]}, and what defines the topic beside it. The
// messages are read one by one: a wrong field of one is no error of the others, and there may not be more than are sent.
func readSending(text []byte) (*sending, error) {
	if err := wire.Faithful(text); err != nil {
		return nil, badRequest("%v", err)
	}
	s := &sending{}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if t, err := d.Token(); err != nil {
		return nil, unreadable(err)
	} else if t != json.Delim('{') {
		return nil, badRequest("the body is not a JSON object")
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
		return nil, badRequest("there is something behind the JSON object")
	}
	return s, s.readRest(append(rest, '}'))
}

// readMany reads the array of messages.
func (s *sending) readMany(d *json.Decoder) error {
	if s.many {
		return badRequest("messages is there twice")
	}
	s.many = true
	t, err := d.Token()
	switch {
	case err != nil:
		return unreadable(err)
	case t != json.Delim('['):
		return invalid("messages", "something else", "an array of messages")
	}
	var m wire.Message
	for d.More() {
		if len(s.items) == maxBatch {
			return invalid("messages", fmt.Sprintf("more than %d", maxBatch), fmt.Sprintf("1 to %d messages; a stream of %s has no limit", maxBatch, streamType))
		}
		var text json.RawMessage
		err := d.Decode(&text)
		var syntax *json.SyntaxError
		if errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
			return unreadable(err)
		}
		s.items = append(s.items, item{})
		m = wire.Message{}
		one := json.NewDecoder(bytes.NewReader(text))
		one.DisallowUnknownFields()
		if err := one.Decode(&m); err != nil {
			s.items[len(s.items)-1].note(wire.Draft{}, wire.Plainer(err))
		} else if err := wire.Keys(text); err != nil {
			s.items[len(s.items)-1].note(wire.Draft{}, err)
		} else {
			s.items[len(s.items)-1].note(m.Draft(wire.Draft{}, humantime.ParseStamp))
		}
	}
	if len(s.items) == 0 {
		return invalid("messages", "empty", fmt.Sprintf("1 to %d messages", maxBatch))
	}
	_, err = d.Token()
	if err != nil {
		return unreadable(err)
	}
	return nil
}

// readRest reads the object without its messages.
func (s *sending) readRest(text []byte) error {
	if s.many {
		return decode(text, &s.defining) // a message beside messages has fields that are not known here
	}
	var one struct {
		wire.Message
		defining
	}
	if err := decode(text, &one); err != nil {
		return err
	}
	s.defining, s.items = one.defining, make([]item, 1)
	s.items[0].note(one.Message.Draft(wire.Draft{}, humantime.ParseStamp))
	return nil
}
