package main

import (
	"bufio"
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
)

func (a *app) deadExportCommand() *cobra.Command {
	var f *deadFilter
	var to string
	cmd := &cobra.Command{
		Use:   "export TOPIC",
		Short: "Write dead messages to a file, as lines of JSON",
		Long: `Write all that is known of dead messages to a file or to stdout, the oldest
death first, as lines of JSON. The file appears when it is complete. Nothing is
changed.`,
		Example: `  rmq dead export orders --out orders.jsonl
  rmq dead export orders --newer-than 2h | jq -r .reason | sort | uniq -c`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			i, err := a.inspector(ctx)
			if err != nil {
				return err
			}
			now, err := a.now(ctx)
			if err != nil {
				return err
			}
			q, err := f.query(now)
			if err != nil {
				return err
			}
			x := &export{app: a, inspector: i, topic: args[0], query: q}
			if to != "" {
				return x.toFile(ctx, to, again(cmd, args, f.same(q, 0)))
			}
			if err := x.all(ctx); err != nil {
				goOn := f.same(q, x.done)
				if !x.last.IsZero() {
					goOn["died-after"] = stampText(x.last)
				}
				return a.halted(ctx, err, x.far()+" written", again(cmd, args, goOn))
			}
			return nil
		},
	}
	f = filters(cmd, 0)
	cmd.Flags().StringVar(&to, "out", "", "write to this `file`, which must not be there yet; to stdout unless it is given")
	return cmd
}

// export writes dead messages.
type export struct {
	*app
	inspector *inspector.Inspector
	topic     string
	query     inspector.DeadQuery
	total     int
	done      int
	last      time.Time // death of the last that was written, and of all that died then
}

// all writes them to the output. It ends between two times of death, so that another one can
// go on behind the last.
func (x *export) all(ctx context.Context) (err error) {
	reading := context.WithoutCancel(ctx)
	if x.query.Content == nil && x.query.Reason == "" { // else all would be read twice
		if x.total, err = x.inspector.DeadCount(reading, x.topic, x.query); err != nil {
			return err
		}
	}
	bar := x.progress("export", x.total)
	defer bar.end()
	for e, err := range x.inspector.Dead(reading, x.topic, x.query) {
		if err == nil && !e.Died.Equal(x.last) {
			err = ctx.Err()
		}
		if err == nil {
			err = x.object(x.deadObject(e))
		}
		if err != nil {
			return err
		}
		x.done, x.last = x.done+1, e.Died
		if !x.screen.terminal { // the lines are seen
			bar.show(x.done)
		}
	}
	return nil
}

// far is how many were read, and of how many if that is known.
func (x *export) far() string {
	if x.total == 0 {
		return grouped(x.done)
	}
	return grouped(x.done) + " of " + grouped(x.total)
}

// toFile writes them to a file that is there when it is complete.
func (x *export) toFile(ctx context.Context, to, goOn string) error {
	if _, err := os.Lstat(to); err == nil {
		return misused("--out: %s is there already", legible(to))
	}
	f, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".*.part")
	if err != nil {
		return misused("--out: %w", err)
	}
	defer os.Remove(f.Name()) // unless it was renamed
	defer f.Close()
	inFile := *x.app
	inFile.out, inFile.screen.terminal = bufio.NewWriter(f), false
	y := *x
	y.app = &inFile
	if err = y.all(ctx); err != nil {
		return x.halted(ctx, err, y.far()+" read, no file written", goOn)
	}
	if err = inFile.flush(); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		return failed("--out: %w", err)
	}
	if x.json {
		return x.object(exportedJSON{x.topic, y.done, to})
	}
	x.say("wrote %s of %s to %s", things(y.done, "dead message"), legible(x.topic), legible(to))
	return nil
}

type exportedJSON struct {
	Topic    string `json:"topic"`
	Exported int    `json:"exported"`
	File     string `json:"file"`
}
