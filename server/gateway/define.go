package gateway

import (
	"context"
	"errors"
	"net/http"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/definition"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// definitions are those of the topics that exist. They never change, but somebody may delete what is in Redis, and
// define a topic anew. So each is read again from time to time.
type definitions struct {
	byName    sync.Map
	inspector *inspector.Inspector
	scripts   *protocol.Scripts
}

type remembered struct {
	message.Topic
	until time.Time
}

// rememberFor is for how long a definition is not read again.
const rememberFor = 30 * time.Second

func (d *definitions) forget(name string) { d.byName.Delete(name) }

// known is the definition of a topic. It reads it again, unless that was done not long
// ago.
func (d *definitions) known(ctx context.Context, name string) (message.Topic, error) {
	if t, is := d.byName.Load(name); is && time.Now().Before(t.(remembered).until) {
		return t.(remembered).Topic, nil
	}
	t, err := d.inspector.Topic(ctx, name)
	if err == nil {
		d.byName.Store(name, remembered{t.Topic, time.Now().Add(rememberFor)})
	}
	return t.Topic, err
}

// of is the definition of a topic, compared with what the request says. If the topic is new and the request names a
// kind, it is the definition that it will get.
func (d *definitions) of(ctx context.Context, name string, asked request.Topic) (t message.Topic, isNew bool, err error) {
	t, err = d.known(ctx, name)
	isNew = errors.Is(err, inspector.ErrUnknownTopic)
	if err != nil && (!isNew || asked.Kind == nil) {
		return t, isNew, err
	}
	t.Name = name
	want, err := asked.Definition(t)
	if err == nil && !isNew {
		err = request.Differs(t, want)
	}
	return want, isNew, err
}

// defined is a topic as it is answered.
type defined struct {
	Topic   string `json:"topic"`
	Kind    string `json:"kind"`
	Slots   int    `json:"slots"`
	Literal bool   `json:"literal"`
	Notes   bool   `json:"notes"`
}

// define defines a topic that is new, and compares one that there is: PUT /v1/topics/{topic}.
func (d *definitions) define(c *call, asked request.Topic) error {
	if asked.Kind == nil {
		return problem.Invalid("kind", "missing", request.Kinds)
	}
	name := c.topic()
	d.forget(name) // what is in Redis now counts
	t, isNew, err := d.of(c.ctx(), name, asked)
	if err != nil {
		return err
	}
	status := http.StatusOK
	if isNew {
		status = http.StatusCreated
		if t, err = definition.Agree(c.ctx(), d.scripts, protocol.Qualify(c.cfg.Namespace, name), t, definition.Sharing{}); err != nil {
			return c.unsure(err)
		}
	}
	return c.answer(status, defined{name, t.Kind.String(), t.Slots, t.Literal, t.Notes})
}
