package gateway

import (
	"errors"
	"net/http"
	"slices"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/servers/cluster"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
)

// missing names what could not be looked at. The answer has all the rest: a server that is away hides nothing else.
func (c *call) missing(err error) ([]wire.Missing, error) {
	var partial *inspector.PartialError
	if !errors.As(err, &partial) {
		return nil, err
	}
	seen := slices.DeleteFunc(slices.Clone(partial.Failures), func(f inspector.Failed) bool { return !c.sees(f.Topic) })
	return wire.MissingOf(seen), nil
}

// alsoMissing adds what another look could not see.
func (c *call) alsoMissing(all []wire.Missing, err error) ([]wire.Missing, error) {
	more, err := c.missing(err)
	for _, m := range more {
		if !slices.Contains(all, m) {
			all = append(all, m)
		}
	}
	return all, err
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

// soFar is the error of a call that was stopped on its way.
func (c *call) soFar(err error, far string) error {
	err = c.undone(err)
	if p, is := err.(*problem.Problem); is {
		p.Detail = far + " of those meant; " + p.Detail
	}
	return err
}
