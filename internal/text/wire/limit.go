package wire

import "github.com/slotmq/go-rmq/inspector"

// Limit slows a topic down for some time.
type Limit struct {
	Rate        float64 `json:"rate_per_second,omitempty"`
	Concurrency int     `json:"concurrency,omitempty"`
	For         Millis  `json:"for_ms"`
}

// LimitOf is a limit; nil if there is none.
func LimitOf(p inspector.Policy) *Limit {
	if p == (inspector.Policy{}) {
		return nil
	}
	return &Limit{p.Rate, p.Concurrency, Millis(p.For)}
}

// Limited is the limit of a topic; null: none.
type Limited struct {
	Topic string `json:"topic"`
	Limit *Limit `json:"limit"`
}

// Unlimited is whether there was a limit, which is over.
type Unlimited struct {
	Topic   string `json:"topic"`
	Changed bool   `json:"changed"`
}
