// Package score reads scores of Redis's sorted sets. Other programs may have written any score.
// So reading never fails: a score that RMQ does not write counts as the nearest one that it
// does.
package score

import (
	"math"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

// Parse reads a score as Redis prints it; a text that is none is 0.
func Parse(text string) int64 {
	f, _ := strconv.ParseFloat(text, 64)
	return Whole(f)
}

// Whole is the nearest whole number, downwards, that a score holds exactly.
func Whole(score float64) int64 {
	return int64(math.Floor(max(-limits.MaxScore, min(limits.MaxScore, score))))
}

// Time is a time in ms; 0 is the zero time.
func Time(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}
