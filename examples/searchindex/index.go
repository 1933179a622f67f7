package main

import (
	"context"
	"maps"
	"sync"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

var edited = rmq.Topic{Name: "page-edited", Kind: rmq.KindRangeMerge}

// index has pages, and what a search would find of them, some saves behind.
type index struct {
	client  *rmq.Client
	quiet   time.Duration // a page is indexed so long after its last save
	ceiling time.Duration // and at the latest so long after the first that is not in the index
	built   func(d *rmq.Delivery, save int)

	mu     sync.Mutex
	pages  map[string]int // how often each was saved; a wiki would have its text
	found  map[string]int // the save that a search finds
	builds int
}

func newIndex(client *rmq.Client, quiet, ceiling time.Duration, built func(d *rmq.Delivery, save int)) *index {
	return &index{client: client, quiet: quiet, ceiling: ceiling, built: built, pages: map[string]int{}, found: map[string]int{}}
}

func (x *index) listen() error {
	return x.client.Listen(edited, rmq.ListenerFunc(x.build), rmq.ListenOptions{})
}

// save saves a page, and then says so. The message has the name of the page alone: all of its saves
// that are not in the index yet are one message.
func (x *index) save(ctx context.Context, page string) (rmq.Receipt, error) {
	x.mu.Lock()
	x.pages[page]++
	x.mu.Unlock()
	return x.client.Send(ctx, edited, rmq.RangeMerge{Content: page, Range: x.quiet, Extend: true, Ceiling: x.ceiling})
}

// build brings the index up to date with one page. A save that comes meanwhile is a message of its own.
func (x *index) build(_ context.Context, d *rmq.Delivery) error {
	x.mu.Lock()
	save := x.pages[d.Content]
	x.found[d.Content] = save
	x.builds++
	x.mu.Unlock()
	x.built(d, save)
	return nil
}

// upToDate reports whether a search finds the last save of each page.
func (x *index) upToDate() bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	return maps.Equal(x.pages, x.found)
}

// times is how often a page was indexed.
func (x *index) times() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.builds
}
