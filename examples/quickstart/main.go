// Quickstart shows in a few seconds what RMQ does: one short story for each of
// its promises, with the times measured while you watch.
//
//	go run ./examples/quickstart                                  # needs no server
//	go run ./examples/quickstart -redis redis://localhost:6379    # the same on yours
//	go run ./examples/quickstart -redis redis://localhost:6379 -zk localhost:2181
//
// With -zk the workers share their slots by ZooKeeper, and the last story shows what
// it knows of them. On servers of yours it works in a namespace of its own,
// quickstart-…, and deletes its keys and nodes at the end. The exit code is 1 if
// anything was not as promised.
package main

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/examples/internal/store"
)

// story is one of them. tell prints what happens and returns what was measured.
type story struct {
	name, title, expect string
	tell                func(ctx context.Context, s *store.Store) (measured, error)
}

// measured is what a story ends with.
type measured struct {
	text string
	ok   bool // it was as promised
}

var stories = []story{
	{"merge", "many changes, one delivery", "50 deliveries, 950 merged, newest price seen", merge},
	{"priority", "the larger, the earlier", "12 of 12 in order of priority", priority},
	{"fixed time", "never early, hardly late", "20 delivered, none early", fixedTime},
	{"reschedule", "sending again moves it", "once, at the second time", reschedule},
	{"poison", "what always fails does not stay in the way", "17 deliveries, then dead; neighbour done", poison},
	{"two workers", "one leaves, the other goes on", "0 lost, 0 twice, never 2 at once in a slot", twoWorkers},
}

func main() { store.Main(run) }

func run(ctx context.Context, s *store.Store) error {
	const patience = 5 * time.Minute // it takes seconds, but on a machine that does much else
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("it has taken %v", patience))
	defer cancel()
	begun := time.Now()
	fmt.Printf("RMQ works with %s.\n", s.Where)
	if s.Namespace != "" {
		fmt.Printf("What it keeps there is in the namespace %s, and deleted at the end.\n", s.Namespace)
	}
	results := make([]measured, len(stories))
	var broken error // why the stories were not told to their end
	for i, story := range stories {
		if broken != nil {
			results[i].text = "not told"
			continue
		}
		fmt.Printf("\n%d. %s: %s\n", i+1, story.name, story.title)
		var err error
		if results[i], err = story.tell(ctx, s); err != nil {
			if ctx.Err() != nil {
				err = context.Cause(ctx)
			}
			results[i] = measured{text: "broke off"}
			broken = fmt.Errorf("%s: %w", story.name, err)
		}
	}
	if err := summarize(results, time.Since(begun)); broken == nil {
		return err
	}
	return broken
}

// summarize prints the closing table, and fails if something was not as promised.
func summarize(results []measured, took time.Duration) error {
	const line = "%-12s  %-44s  %s\n"
	fmt.Printf("\n"+line, "story", "what you should see", "measured")
	wrong := 0
	for i, story := range stories {
		text := results[i].text
		if !results[i].ok {
			wrong++
			text += "  <- WRONG"
		}
		fmt.Printf(line, story.name, story.expect, text)
	}
	if wrong > 0 {
		return fmt.Errorf("%d of %d stories did not go as promised", wrong, len(stories))
	}
	fmt.Printf("\nok (%.1f s)\n", took.Seconds())
	return nil
}

// say prints one line of a story.
func say(format string, args ...any) { fmt.Printf("   "+format+"\n", args...) }

// ms writes a duration as people read it here.
func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond)) }
