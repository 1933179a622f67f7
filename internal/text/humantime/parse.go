package humantime

import (
	"errors"
	"math"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

// spanPart is a number with its unit, at the beginning of a text.
var spanPart = regexp.MustCompile(`^(\d+\.?\d*|\.\d+)(d|h|ms|m|us|µs|s|ns)`)

var spanUnits = map[string]time.Duration{
	"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second,
	"ms": time.Millisecond, "us": time.Microsecond, "µs": time.Microsecond, "ns": 1,
}

// ParseSpan reads a duration: 90s, 1h30m, and with days 7d or 2d12h. It computes with whole numbers of any size: one that
// is too large must not become another one.
func ParseSpan(text string) (time.Duration, error) {
	const longest = 100 // bytes; a longer text makes no sense
	wrong := errors.New("not a duration such as 90s, 1h30m or 7d")
	switch {
	case text == "0":
		return 0, nil
	case text == "" || len(text) > longest:
		return 0, wrong
	}
	sum := new(big.Rat)
	for rest := text; rest != ""; {
		part := spanPart.FindStringSubmatch(rest)
		if part == nil {
			return 0, wrong
		}
		number, ok := new(big.Rat).SetString(part[1])
		if !ok {
			return 0, wrong
		}
		sum.Add(sum, number.Mul(number, new(big.Rat).SetInt64(int64(spanUnits[part[2]]))))
		rest = rest[len(part[0]):]
	}
	whole := new(big.Int).Quo(sum.Num(), sum.Denom())
	if !whole.IsInt64() {
		return 0, errors.New("more than 106751d, the longest duration that there is here")
	}
	return time.Duration(whole.Int64()), nil
}

// ParseRate reads how many a second: 100, 100/s, 5000/m, 20000/h.
func ParseRate(text string) (float64, error) {
	number, unit, found := strings.Cut(text, "/")
	n, err := strconv.ParseFloat(number, 64)
	per, known := map[string]float64{"s": 1, "m": 60, "h": 3600}[unit]
	if !found {
		per, known = 1, true
	}
	if err != nil || !known || math.IsNaN(n) || math.IsInf(n, 0) {
		return 0, errors.New("not a rate such as 100/s, 5000/m or 20000/h")
	}
	if !limits.Rate(n / per) { // which the inspector would refuse, too
		return 0, errors.New("not a rate from 3.6/h to 1000000/s")
	}
	return n / per, nil
}

// instants are the forms of one. Those without a zone are by the clock on the wall here.
var instants = []string{time.RFC3339Nano, "2006-01-02 15:04:05", "2006-01-02T15:04:05", "2006-01-02 15:04", "2006-01-02T15:04", "2006-01-02"}

// ParseInstant reads a point in time.
func ParseInstant(text string) (time.Time, error) {
	for _, form := range instants {
		if t, err := time.ParseInLocation(form, text, time.Local); err == nil {
			return t, possible(t)
		}
	}
	return time.Time{}, errors.New(`not a time such as 2026-01-31T15:04:05Z, or "2026-01-31 15:04" by the clock here`)
}

// ParseStamp reads a point in time that says its zone, as programs write it: RFC 3339.
func ParseStamp(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return t, errors.New("not a time with its zone, such as 2026-01-31T15:04:05Z")
	}
	return t, possible(t)
}

// possible is an error about a time that cannot be stored, or that means something else: the zero time means that
// none is given.
func possible(t time.Time) error {
	if y := t.UTC().Year(); y < 1970 || y > 9999 {
		return errors.New("not a time in the years 1970 to 9999")
	}
	return nil
}
