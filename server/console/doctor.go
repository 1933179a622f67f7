package console

import (
	"context"
	"errors"
	"time"

	"github.com/slotmq/go-rmq/inspector/doctor"
	"github.com/slotmq/go-rmq/server/console/internal/problem"
)

// doctorEvery is how often the servers are looked at if no one does.
const doctorEvery = time.Minute

var errAway = errors.New("Redis, or a part of it, does not answer")

// readDoctor asks the servers how they are.
func (c *Console) readDoctor(ctx context.Context) (any, error) {
	checks := c.inspector.Doctor(ctx)
	var err error
	for n, check := range checks {
		if check.Name == "connection" && check.Level == doctor.Fail {
			err = errAway // so it is asked again soon
		}
		// The rights that workers need are not those of a console that only looks: it needs fewer.
		if check.Name == "rights" && check.Level != doctor.OK && !c.cfg.Act {
			checks[n] = doctor.Check{Name: check.Name, Level: doctor.OK,
				Detail: "the Redis user of this console has fewer rights than workers need; rmq doctor with the user of your workers checks theirs"}
		}
	}
	return checks, err
}

// doctorPage is what the doctor found.
type doctorPage struct {
	At           time.Time
	Checks       []doctor.Check
	Fails, Warns int
}

func loadDoctor(v *visit) (any, error) {
	if !v.looksAtAll() {
		return nil, problem.Forbidden("The doctor needs a token with the right \"look\" at all topics (*): its checks are about servers, and not about single topics.")
	}
	checks, at, err := of[[]doctor.Check](v, doctorSubject, v.readDoctor)
	if err != nil {
		return nil, err
	}
	p := &doctorPage{At: at, Checks: checks}
	for _, c := range checks {
		switch c.Level {
		case doctor.Fail:
			p.Fails++
		case doctor.Warn:
			p.Warns++
		}
	}
	return p, nil
}
