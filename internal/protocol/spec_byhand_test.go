package protocol_test

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/byhand"
)

// The scripts for people told a second time, in Go: what they do to a slot, and
// what they tell of it.

// pause expects what pause.lua does and answers.
func (s *slot) pause(on bool, now int64) (changed bool, before time.Time) {
	changed = s.paused != on
	if s.paused {
		before = time.UnixMilli(s.since)
	}
	if changed {
		s.paused, s.since = on, 0
		if on {
			s.since = now
		}
	}
	return changed, before
}

// takeOut expects what dead.lua does and answers. Nothing is delivered again with
// remove.
func (s *slot) takeOut(remove, priorities bool, give int64, dead []byhand.DeadItem, now int64) (words []byhand.DeadResult) {
	for _, c := range dead {
		x, word := c.Content, byhand.Stored
		score := now
		if priorities {
			why, _ := protocol.ParseFailure(s.why[x])
			if score = give; give == 0 {
				score = why.Priority
			}
		}
		died, buried := s.dead[x]
		_, alive := whereIs(s, x)
		switch {
		case !buried || died != c.Died.UnixMilli():
			word = byhand.Gone
		case remove:
			word = byhand.Deleted
		case alive:
			word = byhand.Merged
		case score <= retries:
			word = byhand.Unknown
		}
		words = append(words, word)
		if word == byhand.Gone || word == byhand.Unknown {
			continue
		}
		delete(s.dead, x)
		part := strings.SplitN(s.why[x], " ", 6)
		switch {
		case s.retry[x]%100 == putBack && len(part) == 6:
			s.why[x] = strings.Join([]string{"0", part[1], part[2], part[3], "- put back by its handler"}, " ")
		case !s.livesFailed(x):
			delete(s.why, x)
		}
		switch word {
		case byhand.Stored:
			delete(s.notes, x)
			s.store[x] = score
		case byhand.Merged:
			s.endless(x)
		}
	}
	return words
}

// endless lifts the end of a message that has a time to live.
func (s *slot) endless(x string) {
	if words := strings.SplitN(s.notes[x], " ", 6); len(words) > 4 {
		words[4] = "0"
		s.notes[x] = strings.Join(words, " ")
	}
}

// livesFailed tells if a copy that has failed before is alive.
func (s *slot) livesFailed(x string) bool {
	waits, stored := s.store[x]
	mark, flying := s.prepare[x]
	again, retrying := s.retry[x]
	return stored && waits <= retries || flying && mark%1000 != retries || retrying && again%100 <= retries
}

// reschedule expects what reschedule.lua does and answers.
func (s *slot) reschedule(x string, m byhand.Move, now int64) (where byhand.Place, before, after int64) {
	to := m.Priority
	if to == 0 {
		to = now + m.In.Milliseconds()
		if !m.At.IsZero() {
			to = m.At.UnixMilli()
		}
	}
	waits, stored := s.store[x]
	again, retrying := s.retry[x]
	_, flying := s.prepare[x]
	switch {
	case stored && waits <= retries:
		return byhand.AtOnce, waits, waits
	case stored && m.RetryOnly:
		return byhand.InStore, waits, waits
	case stored:
		s.store[x] = to
		return byhand.InStore, waits, to
	case retrying && m.Priority == 0:
		s.retry[x] = to*100 + again%100
		if again%100 == putBack {
			s.later = max(s.later, to)
		}
		return byhand.InRetry, again, s.retry[x]
	case retrying:
		return byhand.InRetry, again, again
	case flying:
		return byhand.InFlight, 0, 0
	}
	return byhand.Nowhere, 0, 0
}

// counted expects what slot.lua tells.
func (s *slot) counted(priorities bool, now int64) byhand.Counts {
	c := byhand.Counts{
		Holder: s.held(), Now: time.UnixMilli(now), Stored: len(s.store), Due: len(s.store),
		InFlight: len(s.prepare), Retrying: len(s.retry), Dead: len(s.dead),
	}
	waiting := slices.DeleteFunc(ordered(s.store), func(w scored) bool { return w.score <= retries })
	if len(waiting) > 0 {
		c.Next = waiting[0].score
		if priorities {
			c.Next = waiting[len(waiting)-1].score
		}
	}
	for _, score := range s.store {
		if score <= retries {
			c.Failed++
		}
		if !priorities && score > now {
			c.Due--
		}
	}
	c.Taken, c.Attempt = s.flight()
	for i, w := range ordered(s.retry) {
		if i == 0 {
			c.NextRetry = time.UnixMilli(w.score / 100)
		}
		if w.score/100 <= now {
			c.RetryDue++
		}
	}
	if deaths := ordered(s.dead); len(deaths) > 0 {
		c.Died = [2]time.Time{time.UnixMilli(deaths[0].score), time.UnixMilli(deaths[len(deaths)-1].score)}
	}
	return c
}

// found expects what find.lua tells of a content.
func (s *slot) found(x string, priorities bool, now int64) byhand.Found {
	f := byhand.Found{Holder: s.held(), Now: time.UnixMilli(now), Stored: s.store[x], Batch: len(s.prepare)}
	for _, w := range ordered(s.store) {
		before := w.score < f.Stored || w.score == f.Stored && w.content < x
		if priorities {
			before = w.score > f.Stored
		}
		if f.Stored > 0 && before {
			f.Before++
		}
		if priorities && w.score == f.Stored && w.content != x {
			f.Beside++
		}
	}
	if f.Stored <= retries {
		f.Left = int(f.Stored)
	}
	if score, retrying := s.retry[x]; retrying {
		f.Retry, f.Left = time.UnixMilli(score/100), int(min(score%100, 17))
	}
	if mark, flying := s.prepare[x]; flying {
		f.InFlight, f.Left = true, int(mark%1000)
	}
	if at, buried := s.dead[x]; buried {
		f.Died = time.UnixMilli(at)
	}
	if why, known := protocol.ParseFailure(s.why[x]); known {
		f.Why = &why
	}
	f.Taken, f.Attempt = s.flight()
	if note, known := protocol.ParseNote(s.notes[x]); known {
		if where, alive := whereIs(s, x); alive && (where != "prepare" || note.Tells(s.number)) {
			f.Note = &note
		}
	}
	return f
}

func (s *slot) held() byhand.Holder {
	h := byhand.Holder{Worker: s.holder, Fence: s.number, Lease: time.Duration(s.lease) * time.Millisecond}
	if s.until != 0 {
		h.Until = time.UnixMilli(s.until)
	}
	if s.paused {
		h.Paused = time.UnixMilli(s.since)
	}
	return h
}

// flight tells of the batch in flight when it was taken, and its attempt.
func (s *slot) flight() (taken time.Time, attempt int) {
	for _, mark := range s.prepare {
		return time.UnixMilli(mark / 1000 * 1000), 17 - int(mark%1000)
	}
	return taken, 0
}

var auditedParts = []byhand.Part{byhand.PartStore, byhand.PartRetry, byhand.PartDead, byhand.PartWhy}

// audit expects what audit.lua tells of a whole part, or with part 0 of some contents.
func (s *slot) audit(k protocol.SlotKeys, part byhand.Part, now int64, contents ...string) *byhand.Audit {
	a := &byhand.Audit{
		Keys: k, Part: part, Now: now, Next: "0",
		Sizes: [5]int{len(s.store), len(s.prepare), len(s.retry), len(s.dead), len(s.why)},
		Meta:  byhand.Meta{Holder: s.holder, Batch: number(s.number), Until: number(s.until), Lease: number(s.lease)},
	}
	if s.explains {
		a.Meta.Why = "1"
	}
	if s.paused {
		a.Meta.Paused = strconv.FormatInt(s.since, 10)
	}
	for _, set := range []map[string]int64{s.store, s.prepare, s.retry, s.dead} {
		a.Types = append(a.Types, typeOf(len(set), "zset"))
	}
	meta := 0
	if s.holder != "" || s.number != 0 || s.paused {
		meta = 1
	}
	a.Types = append(a.Types, typeOf(meta, "hash"), typeOf(len(s.why), "hash"))
	for _, x := range ordered(s.prepare) {
		if part != 0 {
			a.Flight = append(a.Flight, byhand.Scored{Content: x.content, Score: number(x.score)})
		}
	}
	switch part {
	case 0:
	case byhand.PartWhy:
		for x := range s.why {
			contents = append(contents, x)
		}
		slices.Sort(contents)
	default:
		set := map[byhand.Part]map[string]int64{byhand.PartStore: s.store, byhand.PartRetry: s.retry, byhand.PartDead: s.dead}[part]
		for _, x := range ordered(set) {
			contents = append(contents, x.content)
		}
	}
	for _, x := range contents {
		a.Entries = append(a.Entries, byhand.Entry{
			Content: x, Store: number(s.store[x]), Prepare: number(s.prepare[x]), Retry: number(s.retry[x]), Dead: number(s.dead[x]), Why: s.why[x],
		})
	}
	return a
}

// number is a number as Redis tells it; 0 is none.
func number(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

func typeOf(size int, full string) string {
	if size == 0 {
		return "none"
	}
	return full
}

// rulesBroken judges a slot by the rules of the package.
func (s *slot) rulesBroken(k protocol.SlotKeys, priority, literal bool, now int64) []byhand.Violation {
	for _, part := range auditedParts {
		a := s.audit(k, part, now)
		a.Priority, a.Literal = priority, literal
		if b := a.Violations(); b != nil {
			return b
		}
	}
	return nil
}

// inWords tells of broken rules.
func inWords(all []byhand.Violation) string {
	var b strings.Builder
	for _, x := range all {
		b.WriteString(x.Rule + " " + x.Key + " " + strconv.Quote(x.Content) + ": " + x.Detail + "; ")
	}
	return b.String()
}
