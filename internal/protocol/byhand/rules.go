package byhand

import (
	"fmt"
	"strconv"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

// Violation is a rule that does not hold in a slot.
type Violation struct {
	Rule    string // its name, see [Rules]
	Key     string // where it shows
	Content string // that it is about; empty: the key as a whole
	Detail  string // what is there
}

// Rules hold for each slot at every moment, whatever its workers do. docs/PROTOCOL.md
// explains them.
var Rules = []struct{ Name, Rule string }{
	{"TYPES", "store, prepare, retry and dead are sorted sets, meta and why hashes"},
	{"STORE", "a score in the store is a time in ms, or a priority; in a literal topic also 1 to 16 retries left"},
	{"BATCH", "what is in flight are at most 256 first deliveries of one moment, or one retry alone"},
	{"MARK", "a mark in prepare is a second times 1000, and 0 to 16 retries left"},
	{"HELD", "what is in flight has a holder and a number"},
	{"RETRY", "a score in retry is a time in ms times 100, and 1 to 17 retries left, or the mark 18 in a priority topic"},
	{"ONCE", "no message is in flight and waits for a retry"},
	{"DEAD", "a score in dead is a time in ms"},
	{"DEATH", "each dead message has its entry in why"},
	{"FAILED", "each failed message that waits for its retry has its entry in why"},
	{"BACK", "each message that waits in retry with the mark 18 was put back, and has its priority in why"},
	{"WHY", "an entry of why can be read"},
	{"ORPHAN", "an entry of why belongs to a message that is dead, in flight or waits"},
	{"FLAG", "meta says so while why has an entry of a message that is not dead"},
	{"META", "batch, until and lease in meta are whole numbers, and of a size that can be"},
}

// Violations are the rules that what was read breaks. All of it is of one moment, so a slot
// at work breaks none.
func (a *Audit) Violations() []Violation {
	c := check{a: a}
	if c.types(); c.found != nil {
		return c.found
	}
	c.meta()
	c.flight()
	for i := range a.Entries {
		c.entry(&a.Entries[i])
	}
	return c.found
}

type check struct {
	a     *Audit
	found []Violation
}

func (c *check) add(rule, key, content, format string, args ...any) {
	c.found = append(c.found, Violation{rule, key, content, fmt.Sprintf(format, args...)})
}

func (c *check) types() {
	k := c.a.Keys
	for i, key := range []string{k.Store, k.Prepare, k.Retry, k.Dead, k.Meta, k.Why} {
		want := "zset"
		if i > 3 {
			want = "hash"
		}
		if is := c.a.Types[i]; is != "none" && is != want {
			c.add("TYPES", key, "", "is a %s", is)
		}
	}
}

func (c *check) meta() {
	m, key := c.a.Meta, c.a.Keys.Meta
	for _, f := range []struct {
		name, value string
		most        int64
	}{{"batch", m.Batch, limits.MaxScore}, {"until", m.Until, limits.MaxScore}, {"lease", m.Lease, limits.MaxDelay}} {
		n, err := strconv.ParseInt(f.value, 10, 64)
		if f.value != "" && (err != nil || n < 0 || n > f.most) {
			c.add("META", key, "", "field %s is %q", f.name, f.value)
		}
	}
}

func (c *check) flight() {
	a := c.a
	if a.Sizes[1] == 0 {
		return
	}
	if a.Meta.Holder == "" || a.Meta.Batch == "" {
		c.add("HELD", a.Keys.Prepare, "", "%d in flight, and meta knows holder %q, number %q", a.Sizes[1], a.Meta.Holder, a.Meta.Batch)
	}
	if a.Sizes[1] > protocol.MaxBatch {
		c.add("BATCH", a.Keys.Prepare, "", "%d in flight", a.Sizes[1])
	}
	for _, x := range a.Flight {
		mark, whole := whole(x.Score)
		left := mark % 1000
		switch {
		case !whole || left > limits.Retries || mark < limits.MinTime || mark > limits.MaxTime+999:
			c.add("MARK", a.Keys.Prepare, x.Content, "its mark is %s", x.Score)
		case x.Score != a.Flight[0].Score:
			c.add("BATCH", a.Keys.Prepare, x.Content, "its mark is %s, and that of another one %s", x.Score, a.Flight[0].Score)
		case left < limits.Retries && a.Sizes[1] > 1:
			c.add("BATCH", a.Keys.Prepare, x.Content, "attempt %d beside %d others", 17-left, a.Sizes[1]-1)
		}
	}
}

func (c *check) entry(e *Entry) {
	a, k := c.a, c.a.Keys
	switch a.Part {
	case PartStore:
		c.stored(e)
	case PartRetry:
		n, whole := whole(e.Retry)
		if left := n % 100; !whole || left < 1 || left > limits.PutBack || left == limits.PutBack && !a.Priority || n/100 < limits.MinTime || n > limits.MaxScore {
			c.add("RETRY", k.Retry, e.Content, "its score is %s", e.Retry)
		} else if left == limits.PutBack {
			f, _ := protocol.ParseFailure(e.Why)
			if f.Priority <= limits.Retries || !f.PutBack() && e.Dead == "" { // of the dead copy all but the priority
				c.add("BACK", k.Retry, e.Content, "its score is %s, and its entry in %s %.80q", e.Retry, k.Why, e.Why)
			}
		} else if left <= limits.Retries {
			c.failed(e, "FAILED", k.Retry)
		}
		if e.Prepare != "" {
			c.add("ONCE", k.Retry, e.Content, "it is in %s, too", k.Prepare)
		}
	case PartDead:
		if n, whole := whole(e.Dead); !whole || n < limits.MinTime || n > limits.MaxTime {
			c.add("DEAD", k.Dead, e.Content, "its score is %s", e.Dead)
		}
		c.failed(e, "DEATH", k.Dead)
	case PartWhy:
		if _, ok := protocol.ParseFailure(e.Why); !ok {
			c.add("WHY", k.Why, e.Content, "its entry is %.80q", e.Why)
		}
		alive := e.Store != "" || e.Prepare != "" || e.Retry != ""
		if !alive && e.Dead == "" {
			c.add("ORPHAN", k.Why, e.Content, "it is nowhere else")
		}
		if alive && e.Dead == "" && a.Meta.Why == "" {
			c.add("FLAG", k.Meta, e.Content, "it is in %s and not dead, and field why is not set", k.Why)
		}
	}
}

func (c *check) stored(e *Entry) {
	n, whole := whole(e.Store)
	sound := whole && n >= 1
	switch {
	case !sound:
	case n <= limits.Retries:
		sound = c.a.Literal
	case c.a.Priority:
		sound = n <= limits.MaxScore
	default:
		sound = n >= limits.MinTime && n <= limits.MaxTime
	}
	if !sound {
		c.add("STORE", c.a.Keys.Store, e.Content, "its score is %s", e.Store)
	} else if n <= limits.Retries {
		c.failed(e, "FAILED", c.a.Keys.Store)
	}
}

// failed: a message that has failed has an entry about it.
func (c *check) failed(e *Entry, rule, key string) {
	if e.Why == "" {
		c.add(rule, key, e.Content, "nothing about it in %s", c.a.Keys.Why)
	} else if f, ok := protocol.ParseFailure(e.Why); ok && f.PutBack() {
		c.add(rule, key, e.Content, "no failure of it in %s, but %.80q", c.a.Keys.Why, e.Why)
	}
}

// whole reads a score that must be a whole number.
func whole(text string) (int64, bool) {
	f, err := strconv.ParseFloat(text, 64) // 1e+15, say
	n := int64(f)
	return n, err == nil && float64(n) == f
}
