package plan

import "time"

// Ahead is how far a clock may be ahead of another one for a while, as when another server takes over.
// A clock that is further ahead is taken for wrong.
const Ahead = time.Hour

// Strays reports whether a clock that was far ahead has set the rule at base, or has moved its plan
// on to next, so that it sends nothing until then: even a clock that is Ahead of now would not have
// done so. next is the zero time if the plan is at its end.
func (r *Rule) Strays(base, next, now time.Time) bool {
	latest := now.Add(Ahead)
	due, comes := r.Next(base, latest)
	return base.After(latest) || comes && (next.IsZero() || next.After(due))
}
