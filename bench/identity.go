package main

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// identities knows of every single message whether it has come, by one bit each.
type identities struct {
	size  int
	seen  []atomic.Uint64
	left  atomic.Int64
	again atomic.Int64 // deliveries of messages that had come before
	done  chan struct{}
}

func newIdentities(n int) *identities {
	ids := &identities{size: n, seen: make([]atomic.Uint64, (n+63)/64), done: make(chan struct{})}
	ids.left.Store(int64(n))
	return ids
}

// number is what a message begins with, or -1 if it is none of ours.
func (ids *identities) number(content string) int {
	n := 0
	for i := 0; i < len(content) && content[i] != ' '; i++ {
		n = 10*n + int(content[i]-'0')
	}
	if n < 0 || n >= ids.size {
		return -1
	}
	return n
}

// handled notes a delivery, and returns the number of the message.
func (ids *identities) handled(content string) int {
	n := ids.number(content)
	if n < 0 {
		return -1
	}
	if bit := uint64(1) << (n % 64); ids.seen[n/64].Or(bit)&bit != 0 {
		ids.again.Add(1)
	} else if ids.left.Add(-1) == 0 {
		close(ids.done)
	}
	return n
}

// bits are the messages that have come.
func (ids *identities) bits() []uint64 {
	all := make([]uint64, len(ids.seen))
	for i := range all {
		all[i] = ids.seen[i].Load()
	}
	return all
}

// merge notes the deliveries of somebody else.
func (ids *identities) merge(seen []uint64, again int64) {
	ids.again.Add(again)
	for i, theirs := range seen {
		before := ids.seen[i].Or(theirs)
		ids.again.Add(int64(bits.OnesCount64(before & theirs)))
		ids.left.Add(-int64(bits.OnesCount64(theirs &^ before)))
	}
}

// has reports whether a message has come.
func (ids *identities) has(n int) bool { return ids.seen[n/64].Load()&(1<<(n%64)) != 0 }

// once is how many messages have come.
func (ids *identities) once() int { return ids.size - int(ids.left.Load()) }

// wait returns when every message has come, or fails when none comes any more.
func (ids *identities) wait() error {
	for {
		left := ids.left.Load()
		select {
		case <-ids.done:
			return nil
		case <-time.After(20 * time.Second):
			if ids.left.Load() == left {
				return fmt.Errorf("%d of %d messages do not come", left, ids.size)
			}
		}
	}
}

// check fails unless every message came exactly once.
func (ids *identities) check() error {
	if lost, again := ids.left.Load(), ids.again.Load(); lost+again > 0 {
		return fmt.Errorf("of %d messages %d were lost, and %d deliveries were not the first", ids.size, lost, again)
	}
	return nil
}

// checkRest fails unless every message either came exactly once or is among those
// that the queue still holds.
func (ids *identities) checkRest(held int) error {
	left, again := int(ids.left.Load()), ids.again.Load()
	if left != held || again > 0 {
		return fmt.Errorf("of %d messages %d did not come, %d are held, and %d deliveries were not the first", ids.size, left, held, again)
	}
	return nil
}

// contents are made before the clock starts. Each begins with its number.
func contents(n, bytes int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = content(i, bytes)
	}
	return all
}

func content(i, bytes int) string {
	number := strconv.Itoa(i) + " "
	return number + strings.Repeat("x", max(0, bytes-len(number)))
}

// each calls do for every index from a number of goroutines, and returns the
// first error.
func each(n, goroutines int, do func(i int) error) error {
	var all sync.WaitGroup
	var first error
	var once sync.Once
	for g := range goroutines {
		all.Go(func() {
			for i := g; i < n; i += goroutines {
				if err := do(i); err != nil {
					once.Do(func() { first = err })
					return
				}
			}
		})
	}
	all.Wait()
	return first
}
