package message

import (
	"strconv"
)

// Kind is what the messages of a topic have in common. A topic has one kind
// for ever.
type Kind uint8

// The kinds. The zero Kind is refused, so that a forgotten Kind is noticed.
const (
	KindRangeMerge Kind = iota + 1
	KindPriority
	KindFixedTime
)

// nature is what a kind means.
type nature struct {
	name      string // as it is stored
	timed     bool
	firstWins bool
}

// natures are those of all kinds. A new kind begins here.
var natures = [...]nature{
	KindRangeMerge: {name: "range-merge", timed: true, firstWins: true},
	KindPriority:   {name: "priority"},
	KindFixedTime:  {name: "fixed-time", timed: true},
}

// Kinds returns all kinds.
func Kinds() (all []Kind) {
	for k := KindRangeMerge; int(k) < len(natures); k++ {
		all = append(all, k)
	}
	return all
}

// ParseKind returns the kind with a name.
func ParseKind(name string) (Kind, bool) {
	for _, k := range Kinds() {
		if k.String() == name {
			return k, true
		}
	}
	return 0, false
}

// String returns the kind as it is stored: "range-merge", "priority",
// "fixed-time".
func (k Kind) String() string {
	if name := k.nature().name; name != "" {
		return name
	}
	return "Kind(" + strconv.Itoa(int(k)) + ")"
}

// nature is empty for a number that is no kind.
func (k Kind) nature() nature {
	if int(k) < len(natures) {
		return natures[k]
	}
	return nature{}
}

// Timed reports whether messages wait for a time. Those of the other kind have a
// priority.
func (k Kind) Timed() bool { return k.nature().timed }

// FirstWins reports whether the time of the first message counts when equal ones
// merge. In the other kinds that of the last does.
func (k Kind) FirstWins() bool { return k.nature().firstWins }

// valid reports the kind of a topic that cannot be accepted.
func (k Kind) valid() error {
	const allowed = "KindRangeMerge, KindPriority or KindFixedTime"
	switch {
	case k.nature().name != "":
		return nil
	case k == 0:
		return invalid("Topic.Kind", "not set", allowed)
	}
	return invalid("Topic.Kind", k.String(), allowed)
}
