package plan

import (
	"cmp"
	"strconv"
	"strings"
	"time"
)

// Since says from when a rule counts. Of two rules of one name the later one holds.
type Since struct {
	Base time.Time

	// Changes is how many rules have taken the place of the one before them since Base.
	Changes int
}

// String is the Since as it is stored: 1772445600000, or 1772445600000+2 after two changes.
func (s Since) String() string {
	text := strconv.FormatInt(s.Base.UnixMilli(), 10)
	if s.Changes > 0 {
		text += "+" + strconv.Itoa(s.Changes)
	}
	return text
}

// Compare is negative if s is the earlier one.
func (s Since) Compare(other Since) int {
	return cmp.Or(s.Base.Compare(other.Base), cmp.Compare(s.Changes, other.Changes))
}

// Split takes a rule apart as it is stored: from when it counts, and its text.
func Split(stored string) (since Since, text string, ok bool) {
	at, text, _ := strings.Cut(stored, " ")
	ms, changes, changed := strings.Cut(at, "+")
	n, err := strconv.ParseInt(ms, 10, 64)
	since.Base = time.UnixMilli(n)
	if changed && err == nil {
		since.Changes, err = strconv.Atoi(changes)
	}
	return since, text, err == nil && since.Changes >= 0
}

// Held is the rule whose place another one takes.
type Held struct {
	Rule *Rule // nil: it cannot be read here
	Since
	Next time.Time // where its plan stands; zero: it is at its end
}

// Sent reports whether anything was sent by the rule, or left out, since its Base.
func (h Held) Sent() bool {
	if h.Rule == nil {
		return true // nobody knows
	}
	first, comes := h.Rule.Next(h.Base, h.Base)
	return h.Next.IsZero() || !comes || h.Next.After(first)
}

// Follow says from when r counts if it takes the place of another rule at now, and its first time
// after that. The time may have passed: then it is sent at once. An error is that of [Rule.First].
//
// A rule begins anew, unless that could keep a plan from ever sending:
//
//   - Where the times are the same, and only what is sent or until when has changed, they go on.
//   - A plain period goes on from the last time of the one before.
//   - Where rules take each other's place again and again with nothing sent between, all count from
//     the second of these changes on. (One change may be a person's, who does not want times that
//     have passed. Two in turn are those of programs that know two rules.)
func (r *Rule) Follow(old Held, now time.Time) (since Since, first time.Time, err error) {
	since = Since{Base: now}
	if !old.Base.Before(now) { // of this ms, or by the clock of another server of a Cluster
		since.Base = old.Base.Add(time.Millisecond)
	}
	after := since.Base
	if old.Rule != nil && !old.Next.IsZero() {
		kept := Since{old.Base, old.Changes + 1}
		bothPlain, sent := r.plain() && old.Rule.plain(), old.Sent()
		switch {
		case r.sameTimes(old.Rule):
			since, after = kept, old.Next.Add(-time.Millisecond)
		case bothPlain && sent:
			last := old.Next.Add(-old.Rule.message.Period)
			switch base := last.Add(-r.message.Delay); base.Compare(old.Base) {
			case +1:
				since, after = Since{Base: base}, last
			case 0:
				since, after = kept, last
			}
		case bothPlain, !sent && old.Changes > 0:
			since, after = kept, old.Base
		case !sent:
			since.Changes = 1
		}
	}
	first, found := r.Next(since.Base, after)
	if !found {
		return since, first, r.over()
	}
	return since, first, nil
}

// plain reports whether the rule is a period without end, from when it was set.
func (r *Rule) plain() bool {
	return r.firings == nil && r.from == 0 && r.period > 0 && r.repeat == 0
}

// sameTimes reports whether two rules have the same times, but for when they end.
func (r *Rule) sameTimes(other *Rule) bool {
	a, b := r.message, other.message
	return a.Cron == b.Cron && a.Zone == b.Zone && r.delay == other.delay && r.period == other.period && r.repeat == other.repeat && r.from == other.from
}
