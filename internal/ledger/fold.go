package ledger

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// Verdict is what all rows of one content come to.
type Verdict struct {
	// What is Owed, or what ended the last send of the content: Done, Dead and so on. It is empty
	// if nothing is known of the content.
	What string

	// What a send that brings it back needs, and of a dead one what a requeue needs.
	Content string
	Score   int64
	Expires int64  // ms from which on it is not handled; 0: never
	Headers string // as JSON, empty without any

	Settled []int64 // ids of the sends that have ended
	Open    []int64 // ids of those that have not
}

// Owed is the verdict of a content that waits, or whose end is not known.
const Owed = "owed"

// Fold decides what is owed of one content, from all its rows, in any order.
//
// The end of a batch settles the sends with a smaller number. A cancel settles the sends that were
// written before it, unless they were sent after it. Gone settles those up to the newest that was looked
// for. What was dead and is deleted settles none: another copy may wait. Of the sends that are left, in the
// order of their ids, each has the last word on the score, but for one that keeps that of another before it.
func Fold(sent []Sent, ended []Ended) Verdict {
	sent, ended = slices.Clone(sent), slices.Clone(ended)
	slices.SortFunc(sent, func(a, b Sent) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(ended, func(a, b Ended) int { return cmp.Compare(a.ID, b.ID) })

	var v Verdict
	var open []Sent
	for _, s := range sent {
		v.Content = s.Content
		if settles(ended, s) {
			v.Settled = append(v.Settled, s.ID)
			continue
		}
		v.Open = append(v.Open, s.ID)
		open = append(open, s)
	}
	if len(open) > 0 {
		v.What = Owed
		v.wait(open)
		return v
	}
	last := lastEnd(ended)
	v.What = last.What
	if v.What == Dead {
		v.died(sent, ended, last)
	}
	return v
}

// settles reports whether one of the ends is the end of s.
func settles(ended []Ended, s Sent) bool {
	return slices.ContainsFunc(ended, func(e Ended) bool { return e.Settles(s) })
}

// Settles reports whether e is the end of s.
func (e Ended) Settles(s Sent) bool {
	switch {
	case e.batch():
		return s.Number < e.Number
	case e.What == Cancelled:
		return s.ID < e.ID && s.At <= e.At
	case e.What == Gone:
		return s.ID <= e.Number
	}
	return false
}

// wait fills in how the message waits that the sends have made.
func (v *Verdict) wait(sends []Sent) {
	forever := false
	for i, s := range sends {
		if i == 0 || !s.Keeps {
			v.Score = s.Score
		}
		ttl, headers, _ := strings.Cut(s.Note, " ")
		if ms, err := strconv.ParseInt(ttl, 10, 64); err == nil && ms > 0 {
			v.Expires = max(v.Expires, s.At+ms)
		} else {
			forever = true // the message is wanted as long as one of its sends is
		}
		if headers != "" {
			v.Headers = headers
		}
	}
	if forever {
		v.Expires = 0
	}
}

// died fills in how a dead message waited, by the last send that its batch can have had: none that
// something else had settled before.
func (v *Verdict) died(sent []Sent, ended []Ended, end Ended) {
	before := slices.DeleteFunc(slices.Clone(ended), func(e Ended) bool { return e.batch() && e.Number >= end.Number })
	var last []Sent
	for _, s := range sent {
		if end.Settles(s) && !settles(before, s) && (last == nil || s.Number >= last[0].Number) {
			last = []Sent{s}
		}
	}
	v.wait(last)
}

// batch reports whether e is the end of a batch, which has a fence.
func (e Ended) batch() bool { return e.What == Done || e.What == Dead || e.What == Dropped }

// lastEnd is the end that had the last word. Batches have an order by their numbers, whenever they
// were told; what was done by hand is told at once.
func lastEnd(ended []Ended) (last Ended) {
	number := int64(0) // of the newest batch
	for _, e := range ended {
		switch {
		case e.batch() && e.Number >= number:
			last, number = e, e.Number
		case e.What == Cancelled, e.What == Gone, e.What == Deleted && last.What == Dead:
			last = e
		}
	}
	return last
}
