package flow

import (
	"strconv"
	"strings"
)

// Word is what the worker that leads tells the others.
type Word struct {
	From   string
	Stay   int // with how many handlers it stays
	Places int // how many may run now: in a trial, fewer or more
	Of     int // in a trial: how many ran before it
	Max    int // how many it may have
	Turn   int // of leading
}

const (
	prefix   = "flow:"
	mostSaid = 1 << 20 // handlers that a word may speak of
	lastTurn = 1 << 50
)

// Append adds the word to what is published. Older workers ignore it.
func (w Word) Append(payload []byte) []byte {
	payload = append(payload, prefix...)
	for _, n := range []int{w.Stay, w.Places, w.Of, w.Max, w.Turn} {
		payload = append(strconv.AppendInt(payload, int64(n), 10), ':')
	}
	return append(payload, w.From...)
}

// ParseWord reads what Append has written.
func ParseWord(payload string) (w Word, ok bool) {
	rest, ok := strings.CutPrefix(payload, prefix)
	for _, n := range []*int{&w.Stay, &w.Places, &w.Of, &w.Max, &w.Turn} {
		var number string
		number, rest, _ = strings.Cut(rest, ":")
		var err error
		*n, err = strconv.Atoi(number)
		ok = ok && err == nil
	}
	w.From = rest
	return w, ok && min(w.Stay, w.Places, w.Of, w.Max, w.Turn+1) > 0 && max(w.Stay, w.Places, w.Of, w.Max) <= mostSaid && w.Turn <= lastTurn
}

// ahead reports whether its worker leads, and not another one. In the same turn the one with more handlers does, and
// with as many the one that may have more, since it can try more.
func (w Word) ahead(of Word) bool {
	switch {
	case w.Turn != of.Turn:
		return w.Turn > of.Turn
	case w.Stay != of.Stay:
		return w.Stay > of.Stay
	case w.Max != of.Max:
		return w.Max > of.Max
	}
	return w.From < of.From
}
