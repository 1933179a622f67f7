package main

import (
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// identities counts the deliveries of every single message.
type identities struct {
	seen []atomic.Uint32
	left atomic.Int64
	done chan struct{}
}

func newIdentities(n int) *identities {
	ids := &identities{seen: make([]atomic.Uint32, n), done: make(chan struct{})}
	ids.left.Store(int64(n))
	return ids
}

// handled notes a delivery, and returns the number that the message begins with,
// or -1 if that is none of ours.
func (ids *identities) handled(content string) int {
	n := 0
	for i := 0; i < len(content) && content[i] != ' '; i++ {
		n = 10*n + int(content[i]-'0')
	}
	if n < 0 || n >= len(ids.seen) {
		return -1
	}
	if ids.seen[n].Add(1) == 1 && ids.left.Add(-1) == 0 {
		close(ids.done)
	}
	return n
}

// wait returns when every message has come, or fails when none comes any more.
func (ids *identities) wait() error {
	for {
		left := ids.left.Load()
		select {
		case <-ids.done:
			return nil
		case <-time.After(20 * time.Second):
			if ids.left.Load() == left {
				return fmt.Errorf("%d of %d messages do not come", left, len(ids.seen))
			}
		}
	}
}

// check fails unless every message came exactly once.
func (ids *identities) check() error {
	lost, twice := 0, 0
	for i := range ids.seen {
		switch ids.seen[i].Load() {
		case 0:
			lost++
		case 1:
		default:
			twice++
		}
	}
	if lost+twice > 0 {
		return fmt.Errorf("of %d messages %d were lost and %d came more than once", len(ids.seen), lost, twice)
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
