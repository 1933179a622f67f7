package cron

import (
	"math"
	"time"
)

// A stretch is a time in which the clock of a zone just runs. It may end earlier than that, and
// another one with the same offset follow.
type stretch struct {
	begin, end int64 // Unix seconds; end is not in it
	offset     int64 // from UTC
}

// stretchAt is the stretch that begins at a time. It looks only ahead: where a zone follows a rule
// for all years, the beginning of a year counts as the beginning for [time.Time.ZoneBounds], even
// if the clock was changed since.
func stretchAt(zone *time.Location, at int64) stretch {
	t := time.Unix(at, 0).In(zone)
	_, offset := t.Zone()
	_, until := t.ZoneBounds()
	s := stretch{begin: at, end: math.MaxInt64, offset: int64(offset)}
	if !until.IsZero() {
		s.end = until.Unix()
	}
	if s.end <= at {
		// For ZoneBounds, each year of such a rule ends after 365 days, and so the last day of a
		// leap year lies behind the end.
		s.end = midnight(t.UTC().Year()+1, time.January, 1)
	}
	return s
}
