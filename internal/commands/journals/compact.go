package journals

import (
	"context"
	"fmt"
	"time"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// leastKept is what compact keeps in any case: programs may hold rows of the last moments.
const leastKept = time.Hour

var compact = frame.Command{
	Use:   "compact",
	Short: "Delete old rows that are not needed any more",
	Long: `Delete rows of the journal that are older than --older-than, 7d unless it is
given, and not needed to tell what is owed or dead. Programs do so themselves,
by their Retention: this is for a journal that must become smaller now.

It may be interrupted at any time; call it again to go on.`,
	Example: `  rmq journal compact
  rmq journal compact --older-than 1d --yes`,
	Flags: func(flags *frame.Flags) frame.Steps {
		older, yes := frame.Span(7*24*time.Hour), false
		flags.Var(&older, "older-than", "keep everything of this time, 1h or more")
		flags.Yes(&yes)
		return frame.Steps{func(ctx context.Context, c *frame.Call) error { return compacted(ctx, c, time.Duration(older), yes) }}
	},
}

func compacted(ctx context.Context, c *frame.Call, older time.Duration, yes bool) error {
	if older < leastKept {
		return frame.Misused("--older-than is %s; it must be 1h or more", humantime.Duration(older))
	}
	j, err := c.NeedJournal(ctx, frame.ToChange)
	if err != nil {
		return err
	}
	if err := c.Confirm(ctx, yes, fmt.Sprintf("delete what is older than %s and not needed any more, from %s", humantime.Duration(older), j.URL)); err != nil {
		return err
	}
	done, err := j.Compact(ctx, time.Now().Add(-older))
	if c.JSON && (err == nil || ctx.Err() != nil) {
		c.Object(compactedJSON{done.Sent, done.Ended, done.Once, done.Gaps, done.Writers})
	}
	far := fmt.Sprintf("deleted %s, %s", words.Count(int(done.Sent), "send"), words.Count(int(done.Ended), "end"))
	switch {
	case err != nil && ctx.Err() != nil:
		return c.Ended(ctx, err, far+"; call it again to go on")
	case err == nil && !c.JSON:
		c.Say("%s, %s, %s, %s", far, words.Count(int(done.Once), "effect"), words.Count(int(done.Gaps), "gap"), words.Count(int(done.Writers), "program"))
	}
	return err
}

type compactedJSON struct {
	Sends    int64 `json:"sends"`
	Ends     int64 `json:"ends"`
	Effects  int64 `json:"effects"` // that Once remembers
	Gaps     int64 `json:"gaps"`
	Programs int64 `json:"programs"`
}
