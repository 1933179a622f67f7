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

// handled notes a delivery. The message begins with its number.
func (ids *identities) handled(content string) {
	n, err := strconv.Atoi(content[:strings.IndexByte(content, ' ')])
	if err != nil || n >= len(ids.seen) {
		return
	}
	if ids.seen[n].Add(1) == 1 && ids.left.Add(-1) == 0 {
		close(ids.done)
	}
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

// contents are made before the clock starts.
func contents(n, bytes int) []string {
	all := make([]string, n)
	for i := range all {
		number := strconv.Itoa(i) + " "
		all[i] = number + strings.Repeat("x", max(0, bytes-len(number)))
	}
	return all
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
