package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/definition"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// defining is what a request says of a topic. What is nil is left open.
type defining struct {
	Kind    *string `json:"kind"`
	Slots   *int    `json:"slots"`
	Literal *bool   `json:"literal"`
	Notes   *bool   `json:"notes"`
}

// kinds is what a kind must be.
const kinds = "range-merge, priority or fixed-time"

// defined is a topic as it is answered.
type defined struct {
	Topic   string `json:"topic"`
	Kind    string `json:"kind"`
	Slots   int    `json:"slots"`
	Literal bool   `json:"literal"`
	Notes   bool   `json:"notes"`
}

// definitions are those of topics that there are. They never change, but somebody may delete what is in Redis, and
// define a topic anew: so each is read again from time to time.
type definitions struct{ byName sync.Map }

type remembered struct {
	message.Topic
	until time.Time
}

// rememberFor is for how long a definition is not read again.
const rememberFor = 30 * time.Second

func (d *definitions) forget(name string) { d.byName.Delete(name) }

// known is the definition of a topic: it is read, unless that was done not long ago.
func (c *call) known(name string) (message.Topic, error) {
	if t, is := c.defined.byName.Load(name); is && time.Now().Before(t.(remembered).until) {
		return t.(remembered).Topic, nil
	}
	t, err := c.inspector.Topic(c.ctx(), name)
	if err == nil {
		c.defined.byName.Store(name, remembered{t.Topic, time.Now().Add(rememberFor)})
	}
	return t.Topic, err
}

// definition is that of the topic in the path, which is as a request says; or as it is to be defined, if it is new and
// the request says a kind.
func (c *call) definition(asked defining) (t message.Topic, isNew bool, err error) {
	name := c.r.PathValue("topic")
	t, err = c.known(name)
	isNew = errors.Is(err, inspector.ErrUnknownTopic)
	if err != nil && (!isNew || asked.Kind == nil) {
		return t, isNew, err
	}
	want := t
	want.Name = name
	if asked.Kind != nil {
		kind, is := message.ParseKind(*asked.Kind)
		if !is {
			return t, isNew, invalid("kind", *asked.Kind, kinds)
		}
		want.Kind = kind
	}
	if asked.Slots != nil {
		if want.Slots = *asked.Slots; want.Slots == 0 { // which a topic takes for what it has
			return t, isNew, invalid("slots", "0", "a power of two from 1 to 65536")
		}
	}
	if asked.Literal != nil {
		want.Literal = *asked.Literal
	}
	if asked.Notes != nil {
		want.Notes = *asked.Notes
	}
	if err := want.Validate(); err != nil {
		return t, isNew, err
	}
	if !isNew {
		return t, false, differs(t, want)
	}
	return want, true, nil
}

// differs is an error that names what is not as a topic is defined, if anything is not.
func differs(is, asked message.Topic) error {
	for _, f := range [...]struct{ field, is, asked string }{
		{"kind", is.Kind.String(), asked.Kind.String()},
		{"slots", strconv.Itoa(is.Slots), strconv.Itoa(asked.Slots)},
		{"literal", strconv.FormatBool(is.Literal), strconv.FormatBool(asked.Literal)},
		{"notes", strconv.FormatBool(is.Notes), strconv.FormatBool(asked.Notes)},
	} {
		if f.is != f.asked {
			return &problem{Type: "conflict", Status: http.StatusConflict, Field: f.field, Value: f.asked, Limit: f.is,
				Detail: fmt.Sprintf("%s is %s; the topic is defined as %s, and a topic never changes: leave out what defines it, or use another name", f.field, f.asked, inWords(is))}
		}
	}
	return nil
}

func inWords(t message.Topic) string {
	return fmt.Sprintf("{kind: %s, slots: %d, literal: %t, notes: %t}", t.Kind, t.Slots, t.Literal, t.Notes)
}

// define defines a topic that is new, and compares one that there is: PUT /v1/topics/{topic}.
func (c *call) define() error {
	var asked defining
	if err := c.read(&asked); err != nil {
		return err
	}
	if asked.Kind == nil {
		return invalid("kind", "missing", kinds)
	}
	name := c.r.PathValue("topic")
	c.defined.forget(name) // what is in Redis now counts
	t, isNew, err := c.definition(asked)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if isNew {
		status = http.StatusCreated
		full := luascripts.Qualify(c.cfg.Namespace, name)
		if t, err = definition.Agree(c.ctx(), c.scripts, full, t, definition.Sharing{}); err != nil {
			return c.unsure(err)
		}
	}
	return c.answer(status, defined{name, t.Kind.String(), t.Slots, t.Literal, t.Notes})
}
