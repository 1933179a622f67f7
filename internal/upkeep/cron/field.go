package cron

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
)

// set has a bit for each value.
type set uint64

// span is the set of first to last.
func span(first, last int) set {
	return set(1)<<(last+1) - set(1)<<first
}

func (s set) has(value int) bool { return s>>value&1 != 0 }

// next is the smallest value from least on.
func (s set) next(least int) (value int, found bool) {
	s &= ^set(0) << least
	return bits.TrailingZeros64(uint64(s)), s != 0
}

// field is what may stand in one of the five.
type field struct {
	name       string
	first, max int
	last       int // of *
	names      string
}

const (
	monthNames   = "jan feb mar apr may jun jul aug sep oct nov dec"
	weekdayNames = "sun mon tue wed thu fri sat"
)

var fields = [5]field{
	{name: "minute", first: 0, max: 59, last: 59},
	{name: "hour", first: 0, max: 23, last: 23},
	{name: "day of month", first: 1, max: 31, last: 31},
	{name: "month", first: 1, max: 12, last: 12, names: monthNames},
	{name: "day of week", first: 0, max: 7, last: 6, names: weekdayNames},
}

// parse reads a field: items with commas between them.
func (f *field) parse(text string) (set, *Error) {
	var all set
	for item := range strings.SplitSeq(text, ",") {
		values, err := f.item(item)
		if err != nil {
			return 0, err
		}
		all |= values
	}
	if f.sunday() && all.has(7) {
		all = all&^span(7, 7) | span(0, 0)
	}
	return all, nil
}

// item reads a value, a range or *, the latter two with a step if there is one.
func (f *field) item(text string) (set, *Error) {
	values, stepText, stepped := strings.Cut(text, "/")
	firstText, lastText, ranged := strings.Cut(values, "-")
	first, last, ok := f.first, f.last, true
	if values != "*" {
		first, ok = f.value(firstText)
		last = first
	}
	if ok && ranged {
		last, ok = f.value(lastText)
		if f.sunday() && last == 0 && first > 0 {
			last = 7 // fri-sun
		}
	}
	if !ok {
		return 0, wrong(f.name, text, f.limit())
	}
	if first > last {
		return 0, wrong(f.name, text, fmt.Sprintf("a range that does not end before it begins, such as %d-%d,%d-%d", first, f.max, f.first, last))
	}
	step, most := 1, f.last-f.first+1
	if stepped {
		step, ok = number(stepText)
		if !ok || step < 1 || step > most {
			return 0, wrong(f.name, text, fmt.Sprintf("a step of 1-%d behind the /", most))
		}
		if values != "*" && !ranged {
			return 0, wrong(f.name, text, fmt.Sprintf("a range in front of the /, such as %d-%d/%d", first, f.max, step))
		}
	}
	var all set
	for value := first; value <= last; value += step {
		all |= span(value, value)
	}
	return all, nil
}

// value reads a number or a name.
func (f *field) value(text string) (int, bool) {
	if f.names != "" && len(text) == 3 {
		if at := strings.Index(f.names, strings.ToLower(text)); at >= 0 && at%4 == 0 {
			return f.first + at/4, true
		}
	}
	n, ok := number(text)
	return n, ok && f.first <= n && n <= f.max
}

func number(text string) (int, bool) {
	if strings.Trim(text, "0123456789") != "" { // a sign is none
		return 0, false
	}
	n, err := strconv.Atoi(text)
	return n, err == nil
}

func (f *field) sunday() bool { return f.names == weekdayNames }

// limit says what the field may be.
func (f *field) limit() string {
	values := fmt.Sprintf("%d-%d", f.first, f.max)
	if f.names != "" {
		values += " or " + f.names[:3] + "-" + f.names[len(f.names)-3:]
	}
	example := fmt.Sprintf("%d,%d", f.first+1, f.first+3)
	return values + ", *, a list such as " + example + ", a range such as " + strings.Replace(example, ",", "-", 1) + ", or a step such as */2"
}
