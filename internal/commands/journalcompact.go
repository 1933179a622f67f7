package commands

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/words"
)

// leastKept is what compact keeps in any case: programs may hold rows of the last moments.
const leastKept = time.Hour

func (a *app) journalCompactCommand() *cobra.Command {
	older := span(7 * 24 * time.Hour)
	var yes bool
	cmd := &cobra.Command{
		Use:   "compact",
		Short: "Delete old rows that are not needed any more",
		Long: `Delete rows of the journal that are older than --older-than, 7d unless it is
given, and not needed to tell what is owed or dead. Programs do so themselves,
by their Retention: this is for a journal that must become smaller now.

It may be interrupted at any time; call it again to go on.`,
		Example: `  rmq journal compact
  rmq journal compact --older-than 1d --yes`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if time.Duration(older) < leastKept {
				return misused("--older-than is %s; it must be 1h or more", humantime.Duration(time.Duration(older)))
			}
			j, err := a.needJournal(ctx, toChange)
			if err != nil {
				return err
			}
			if err := a.confirm(ctx, yes, fmt.Sprintf("delete what is older than %s and not needed any more, from %s", humantime.Duration(time.Duration(older)), j.url)); err != nil {
				return err
			}
			done, err := j.Compact(ctx, time.Now().Add(-time.Duration(older)))
			if a.json && (err == nil || ctx.Err() != nil) {
				if err := a.object(compactedJSON{done.Sent, done.Ended, done.Once, done.Gaps, done.Writers}); err != nil {
					return err
				}
			}
			far := fmt.Sprintf("deleted %s, %s", words.Count(int(done.Sent), "send"), words.Count(int(done.Ended), "end"))
			switch {
			case err != nil && ctx.Err() != nil:
				return a.ended(ctx, err, far+"; call it again to go on")
			case err != nil:
				return err
			case !a.json:
				a.say("%s, %s, %s, %s", far, words.Count(int(done.Once), "effect"), words.Count(int(done.Gaps), "gap"), words.Count(int(done.Writers), "program"))
			}
			return nil
		},
	}
	cmd.Flags().Var(&older, "older-than", "keep everything of this time, 1h or more")
	asks(cmd, &yes)
	return cmd
}

type compactedJSON struct {
	Sends    int64 `json:"sends"`
	Ends     int64 `json:"ends"`
	Effects  int64 `json:"effects"` // that Once remembers
	Gaps     int64 `json:"gaps"`
	Programs int64 `json:"programs"`
}
