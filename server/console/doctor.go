package console

import (
	"context"
	"time"

	"github.com/slotmq/go-rmq/inspector"
)

// readDoctor asks the servers how they are.
func (c *Console) readDoctor(ctx context.Context) (any, error) { return c.inspector.Doctor(ctx), nil }

// doctorPage is what the doctor found.
type doctorPage struct {
	At           time.Time
	Checks       []inspector.Check
	Fails, Warns int
}

func (v *visit) loadDoctor() (any, error) {
	checks, at, err := of[[]inspector.Check](v, doctorSubject, v.readDoctor)
	if err != nil {
		return nil, err
	}
	p := &doctorPage{At: at, Checks: checks}
	for _, c := range checks {
		switch c.Level {
		case inspector.Fail:
			p.Fails++
		case inspector.Warn:
			p.Warns++
		}
	}
	return p, nil
}
