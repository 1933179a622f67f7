package gateway

import (
	"errors"
	"net/http"
	"slices"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/cluster"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/server/tokens"
)

// missing names what a look could not see. The answer has the rest, so that a server which is away hides nothing else.
func (c *call) missing(err error) ([]wire.Missing, error) {
	var partial *inspector.PartialError
	if !errors.As(err, &partial) {
		return nil, err
	}
	seen := slices.DeleteFunc(slices.Clone(partial.Failures), func(f inspector.Failed) bool { return !c.holder.May(c.right, f.Topic) })
	return wire.MissingOf(seen), nil
}

// undone is the error of a call that changes many things one by one: some of them may be changed.
func (c *call) undone(err error) error {
	if err == nil {
		return nil
	}
	p := *c.problem(err)
	if p.Status != http.StatusServiceUnavailable {
		return err
	}
	var partial *inspector.PartialError
	if errors.As(err, &partial) {
		p.Missing = wire.MissingOf(partial.Failures)
	}
	if !p.Uncertain {
		p.Uncertain = true
		p.Detail += "; a part of it may be done"
	}
	return &p
}

// unsure is the error of a call that changes one thing. If its answer got lost, it is not known whether that is done.
func (c *call) unsure(err error) error {
	if err == nil || cluster.Refused(err) {
		return err
	}
	p := *c.problem(err)
	if p.Status != http.StatusServiceUnavailable || p.Uncertain {
		return err
	}
	p.Uncertain = true
	p.Detail += "; it may be done, and asking for it again is safe"
	return &p
}

// all reports whether whoever asks has the right at all topics.
func (c *call) all(right tokens.Right) bool {
	return c.holder.Has(right) && slices.Contains(c.holder.Topics, "*")
}

// mayAll is an error unless that is so: what it asks for cannot be divided by topics.
func (c *call) mayAll(what string) error {
	if c.all(c.right) {
		return nil
	}
	p := c.forbidden("").(*problem)
	p.Detail = what + " is for tokens with the right " + string(c.right) + ` at all topics, ["*"]: the token "` + c.holder.Name + `" has it not`
	return p
}
