package schedule

import "time"

// bucket holds tokens, one for each message that may be begun. They come at a rate, and no more
// are kept than for a burst.
type bucket struct {
	rate   float64 // tokens a second
	most   float64 // it keeps
	tokens float64 // at a time
	at     time.Time
}

// A wait for tokens ends late on a machine that is busy. What came in such a time is owed, and
// kept beside the burst: so the rate is held there, too.
const owed = 50 * time.Millisecond

// grain is what a wait for tokens lasts at least: with a rate of thousands it would end all the
// time, for one message each.
const grain = 5 * time.Millisecond

// fill brings the bucket up to a time. While slots wait for tokens, some are owed.
func (b *bucket) fill(now time.Time, waiting bool) {
	passed := now.Sub(b.at)
	if passed <= 0 {
		return
	}
	b.at = now
	most := b.most
	if waiting {
		most += b.rate * owed.Seconds()
	}
	if full := min(most, b.tokens+b.rate*passed.Seconds()); full > b.tokens { // what it has too much of stays
		b.tokens = full
	}
}

// set changes the rate and the burst.
func (b *bucket) set(rate, most float64) {
	b.rate, b.most = rate, max(1, most)
	b.tokens = min(b.tokens, b.most)
}

// some is a small part of a token, since sums of fractions are not exact.
const some = 1e-6

// whole is how many tokens there are.
func (b *bucket) whole() int { return int(b.tokens + some) }

// take takes up to n tokens, and returns how many.
func (b *bucket) take(n int) int {
	n = min(n, b.whole())
	b.tokens = max(0, b.tokens-float64(n))
	return n
}

// giveBack returns n tokens, for messages that were not begun.
func (b *bucket) giveBack(n int) { b.tokens = max(b.tokens, min(b.tokens+float64(n), b.most)) }

// noToken is longer than any wait for a token.
const noToken = 365 * 24 * time.Hour

// in is how long it takes until there are tokens for one message, or for a grain if that is
// more.
func (b *bucket) in() time.Duration {
	want := max(1, min(b.most, b.rate*grain.Seconds())) - b.tokens
	if want <= 0 {
		return 0
	}
	if seconds := want / b.rate; seconds < noToken.Seconds() { // also not if the rate is 0
		return max(time.Millisecond, time.Duration(seconds*float64(time.Second)))
	}
	return noToken
}
