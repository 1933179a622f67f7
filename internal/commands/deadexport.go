package commands

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

func (a *app) deadExportCommand() *cobra.Command {
	var f *deadFilter
	var to string
	cmd := &cobra.Command{
		Use:   "export TOPIC",
		Short: "Write dead messages to a file, as lines of JSON",
		Long: `Write all that is known of dead messages to a file or to stdout, the oldest
death first, as lines of JSON. The file appears when it is complete. Nothing is
changed. To stdout it may be interrupted, and says how to go on; no line is
missed then.`,
		Example: `  rmq dead export orders --out orders.jsonl
  rmq dead export orders --newer-than 2h | jq -r .reason | sort | uniq -c`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ctx := cmd.Context()
			i, err := a.inspector(ctx)
			if err != nil {
				return err
			}
			q, err := a.upTo(ctx, i, args[0], f)
			if err != nil {
				return err
			}
			q.Complete = true // otherwise you could not go on with what was left out
			x := &export{app: a, inspector: i, topic: args[0], query: q}
			if to != "" && to != "-" {
				return x.toFile(ctx, to, again(cmd, args, f.same(q, 0)))
			}
			err = x.all(ctx)
			if err == nil {
				return nil
			}
			if !x.last.IsZero() {
				q.NewerThan = x.last
			}
			far := of(x.written, x.total) + " written"
			if x.refused {
				far += ", and maybe some more, the last line cut off"
			}
			return a.halted(ctx, err, far, f.rest(cmd, args, q, x.written))
		},
	}
	f = filters(cmd, 0)
	cmd.Flags().StringVar(&to, "out", "", "write to this `file`, which must not be there yet; to stdout if it is -, or not given")
	return cmd
}

// export writes dead messages. It can go on after an interruption.
type export struct {
	*app
	inspector *inspector.Inspector
	topic     string
	query     inspector.DeadQuery
	total     int
	done      int // were read

	// What is read and not written yet. Messages that died in the same ms are written
	// together, so that another export can go on after that ms: only a time of death can be
	// given to the next command, and a pipe into another program must get no line twice.
	pending bytes.Buffer
	dying   time.Time // death of the last that was read

	whole struct { // of pending, what no line of the same death can follow
		bytes, done int
		last        time.Time
	}
	written int       // lines that the output took
	last    time.Time // their last death, of which all are written
	refused bool      // the output did not take all it got
}

// An output gets so many bytes at once if all lines of a ms are complete, and so many if
// they are not: then the command that goes on may write some lines again.
const (
	together = 4 << 10
	enough   = 4 << 20
)

// all writes them to the output.
func (x *export) all(ctx context.Context) (err error) {
	if x.query.Content == nil && x.query.Reason == "" { // otherwise all would be read twice
		if x.total, err = x.inspector.DeadCount(ctx, x.topic, x.query); err != nil {
			return err
		}
	}
	bar := x.progress("export", x.total)
	defer bar.end()
	for e, err := range x.inspector.Dead(ctx, x.topic, x.query) {
		if err == nil {
			err = x.take(ctx, e)
		}
		if err != nil {
			_ = x.write() // what is complete; if it cannot be written, it counts as not written
			return err
		}
		if !x.screen.terminal { // the lines are seen
			bar.show(x.done)
		}
	}
	x.complete()
	return x.write()
}

// take adds a dead message to what is to be written, and writes when that is enough.
func (x *export) take(ctx context.Context, e inspector.Entry) error {
	if !e.Died.Equal(x.dying) {
		x.complete()
		x.dying = e.Died
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if x.whole.bytes >= together || x.pending.Len() >= enough {
		if err := x.write(); err != nil {
			return err
		}
	}
	if x.pending.Len() >= enough {
		if err := x.print(x.pending.Len()); err != nil {
			return err
		}
	}
	if err := addLine(&x.pending, wire.DeadOf(e, x.base64)); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	x.done++
	return nil
}

// complete notes that no more lines of the present death come.
func (x *export) complete() {
	x.whole.bytes, x.whole.done, x.whole.last = x.pending.Len(), x.done, x.dying
}

// write writes the deaths that are complete.
func (x *export) write() error {
	if err := x.print(x.whole.bytes); err != nil {
		return err
	}
	x.whole.bytes = 0
	x.written, x.last = x.whole.done, x.whole.last
	return nil
}

// print writes so many bytes of what is pending.
func (x *export) print(n int) error {
	_, err := x.out.Write(x.pending.Next(n))
	if err == nil {
		err = x.out.Flush()
	}
	if err != nil {
		x.refused = true
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// of is how many, and of how many if that is known.
func of(n, total int) string {
	if total == 0 {
		return words.Grouped(n)
	}
	return words.Grouped(n) + " of " + words.Grouped(total)
}

// toFile writes them to a file that is there when it is complete.
func (x *export) toFile(ctx context.Context, to, goOn string) error {
	if _, err := os.Lstat(to); err == nil {
		return misused("--out: %s is there already", words.Legible(to))
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
		return x.halted(ctx, err, of(y.done, y.total)+" read, no file written", goOn)
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
	x.say("wrote %s of %s to %s", words.Count(y.done, "dead message"), words.Legible(x.topic), words.Legible(to))
	return nil
}

type exportedJSON struct {
	Topic    string `json:"topic"`
	Exported int    `json:"exported"`
	File     string `json:"file"`
}
