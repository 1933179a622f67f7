package consumer

import (
	"errors"
	"fmt"

	"github.com/slotmq/go-rmq/message"
)

// Listen has l handle the messages of topic t. It is called once for a topic,
// before Start.
func (c *Consumer) Listen(t message.Topic, l MessageListener, o ListenOptions) error {
	o = o.withDefaults(c.cfg)
	f, isFunc := l.(ListenerFunc)
	valid := func() error { return o.validate(t) }
	return c.listen(t, l == nil || isFunc && f == nil, valid, func(x *topic) (err error) {
		x.opts = o
		x.listener, err = wrap(l, c.cfg.Middleware)
		return err
	})
}

// ListenBatch has l handle the messages of topic t together. Like Listen, it is called
// once for a topic, before Start.
func (c *Consumer) ListenBatch(t message.Topic, l BatchListener, o BatchOptions) error {
	o = o.withDefaults(c.cfg)
	f, isFunc := l.(BatchFunc)
	valid := func() error { return o.validate(t) }
	return c.listen(t, l == nil || isFunc && f == nil, valid, func(x *topic) (err error) {
		x.opts, x.calls = o.ListenOptions, &batchCalls{BatchOptions: o}
		x.calls.listener, err = wrap(l, c.cfg.BatchMiddleware)
		return err
	})
}

// listen adds a topic, which set gives its listener and options.
func (c *Consumer) listen(t message.Topic, isNil bool, valid func() error, set func(*topic) error) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("listen to topic %s: %w", t.Name, err)
		}
	}()
	if isNil {
		return errNilListener
	}
	if err := t.Validate(); err != nil {
		return err
	}
	if err := valid(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.phase != fresh || c.trying != nil {
		return errRunning
	}
	if c.listens[t.Name] {
		return errors.New("the topic has a listener already")
	}
	x := newTopic(t, c.cfg.Namespace)
	if err := set(x); err != nil {
		return err
	}
	c.topics = append(c.topics, x)
	c.listens[t.Name] = true
	return nil
}

// wrap wraps a listener in middleware, the first outermost.
func wrap[L any, M ~func(L) L](l L, by []M) (L, error) {
	for i := len(by) - 1; i >= 0; i-- {
		if l = by[i](l); any(l) == nil {
			return l, fmt.Errorf("middleware %d returned no listener", i)
		}
	}
	return l, nil
}
