package promises

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// writes tells whether a value stands in a phrase, in one of the ways in which documents write it.
func writes(phrase string, value any) bool {
	phrase = strings.ToLower(phrase)
	for _, w := range writings(value) {
		if regexp.MustCompile(`(?:^|[^\w.,]|[^\d][.,])` + regexp.QuoteMeta(strings.ToLower(w)) + `(?:$|[^\w.,]|[.,](?:$|\D))`).MatchString(phrase) {
			return true
		}
	}
	return false
}

func writings(value any) []string {
	v := reflect.ValueOf(value)
	switch {
	case v.Kind() == reflect.String:
		return []string{v.String()}
	case v.Type() == reflect.TypeFor[time.Duration]():
		return ofDuration(time.Duration(v.Int()))
	case v.CanInt():
		return ofCount(int(v.Int()))
	case v.CanFloat():
		return ofFraction(v.Float())
	}
	return []string{fmt.Sprint(value)}
}

// units of time, and how one of each is written.
var units = []struct {
	is    time.Duration
	names []string
	one   []string
}{
	{time.Microsecond, []string{"µs"}, nil},
	{time.Millisecond, []string{"ms"}, []string{"each millisecond", "one ms"}},
	{time.Second, []string{"s", "seconds", "second"}, []string{"a second", "each second", "every second"}},
	{time.Minute, []string{"min", "minutes", "minute"}, []string{"a minute", "each minute", "every minute"}},
	{time.Hour, []string{"h", "hours", "hour"}, []string{"an hour", "each hour"}},
	{24 * time.Hour, []string{"d", "days"}, []string{"a day", "one day"}},
	{7 * 24 * time.Hour, []string{"weeks"}, []string{"a week", "one week"}},
}

func ofDuration(d time.Duration) []string {
	var all []string
	for _, u := range units {
		if d == u.is {
			all = append(all, u.one...)
		}
		n := float64(d) / float64(u.is)
		for _, text := range append(words(n), decimal(n)) {
			for _, name := range u.names {
				all = append(all, text+" "+name)
			}
		}
	}
	return all
}

func ofCount(n int) []string {
	all := append(words(float64(n)), strconv.Itoa(n), grouped(n))
	for i, unit := range []string{"KiB", "MiB", "GiB"} {
		if size := 1 << (10 * (i + 1)); n > 0 && n%size == 0 {
			all = append(all, strconv.Itoa(n/size)+" "+unit)
		}
	}
	if e := math.Round(math.Log10(float64(n))); n >= 10 && math.Pow(10, e) == float64(n) {
		all = append(all, fmt.Sprintf("10^%.0f", e))
	}
	if n == 1<<53-1 {
		all = append(all, "2^53 − 1")
	}
	return all
}

// grouped is 10,000 for 10000.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

func ofFraction(x float64) []string {
	all := []string{decimal(x), decimal(100*x) + " %", decimal(1e6*x) + " ppm"}
	for text, is := range map[string]float64{
		"half": 1. / 2, "a third": 1. / 3, "every third": 1. / 3, "two thirds": 2. / 3, "2/3": 2. / 3, "a quarter": 1. / 4, "2/5": 2. / 5, "two fifths": 2. / 5,
		"an eighth": 1. / 8, "a tenth": 1. / 10,
	} {
		if x == is {
			all = append(all, text)
		}
	}
	if x == math.Trunc(x) {
		all = append(all, ofCount(int(x))...)
	}
	return all
}

func decimal(x float64) string {
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(x, 'f', 6, 64), "0"), ".")
}

// words are those for small numbers.
func words(n float64) []string {
	small := []string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"}
	var all []string
	if n >= 0 && n < float64(len(small)) && n == math.Trunc(n) {
		all = append(all, small[int(n)])
	}
	switch n {
	case 1:
		all = append(all, "once")
	case 2:
		all = append(all, "twice")
	case 20:
		all = append(all, "twenty")
	case 0.5:
		all = append(all, "half", "half a", "half an")
	}
	return all
}
