package dead

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

var export = frame.Command{
	Use:   "export TOPIC",
	Short: "Write dead messages to a file, as lines of JSON",
	Long: `Write all that is known of dead messages to a file or to stdout, the oldest
death first, as lines of JSON. The file appears when it is complete. Nothing is
changed. To stdout it may be interrupted, and says how to go on; no line is
missed then.`,
	Example: `  rmq dead export orders --out orders.jsonl
  rmq dead export orders --newer-than 2h | jq -r .reason | sort | uniq -c`,
	Flags: func(flags *frame.Flags) frame.Steps {
		x := &exporting{}
		x.add(flags, 0)
		flags.StringVar(&x.to, "out", "", "write to this `file`, which must not be there yet; to stdout if it is -, or not given")
		return frame.Steps{frame.Connect, x.run}
	},
}

// exporting is one call of rmq dead export.
type exporting struct {
	filter
	to string

	*frame.Call
	query inspector.DeadQuery
	total int
	done  int // were read

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
	last    time.Time // the last death with all of its lines written
	refused bool      // the output did not take all it got
}

// An output gets so many bytes at once if all lines of a ms are complete, and so many if
// they are not: then the command that goes on may write some lines again.
const (
	together = 4 << 10
	enough   = 4 << 20
)

func (x *exporting) run(ctx context.Context, c *frame.Call) (err error) {
	x.Call = c
	if x.query, err = x.upTo(ctx, c); err != nil {
		return err
	}
	x.query.Complete = true // otherwise you could not go on with what was left out
	if x.to != "" && x.to != "-" {
		return x.toFile(ctx, c)
	}
	if err = x.all(ctx); err == nil {
		return nil
	}
	rest := x.query
	if !x.last.IsZero() {
		rest.NewerThan = x.last
	}
	far := x.of(x.written) + " written"
	if x.refused {
		far += ", and maybe some more, the last line cut off"
	}
	return c.Halted(ctx, err, far, x.rest(c, rest, x.written))
}

// all writes them to the output.
func (x *exporting) all(ctx context.Context) (err error) {
	if x.query.Content == nil && x.query.Reason == "" { // otherwise all would be read twice
		if x.total, err = x.Inspector.Dead().Count(ctx, x.Args[0], x.query); err != nil {
			return err
		}
	}
	bar := x.Progress("export", x.total)
	defer bar.End()
	for e, err := range x.Inspector.Dead().List(ctx, x.Args[0], x.query) {
		if err == nil {
			err = x.take(ctx, e)
		}
		if err != nil {
			_ = x.write() // what is complete; if it cannot be written, it counts as not written
			return err
		}
		if !x.Screen.Terminal { // the lines are seen
			bar.Show(x.done)
		}
	}
	x.complete()
	return x.write()
}

// take adds a dead message to what is to be written, and writes when that is enough.
func (x *exporting) take(ctx context.Context, e inspector.Entry) error {
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
	if err := frame.AddLine(&x.pending, wire.DeadOf(e, x.Base64)); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	x.done++
	return nil
}

// complete notes that no more lines of the present death come.
func (x *exporting) complete() {
	x.whole.bytes, x.whole.done, x.whole.last = x.pending.Len(), x.done, x.dying
}

// write writes the deaths that are complete.
func (x *exporting) write() error {
	if err := x.print(x.whole.bytes); err != nil {
		return err
	}
	x.whole.bytes = 0
	x.written, x.last = x.whole.done, x.whole.last
	return nil
}

// print writes so many bytes of what is pending.
func (x *exporting) print(n int) error {
	_, err := x.Out.Write(x.pending.Next(n))
	if err == nil {
		err = x.Out.Flush()
	}
	if err != nil {
		x.refused = true
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// of is how many, and of how many if that is known.
func (x *exporting) of(n int) string {
	if x.total == 0 {
		return words.Grouped(n)
	}
	return words.Grouped(n) + " of " + words.Grouped(x.total)
}

// toFile writes them to a file that is there when it is complete.
func (x *exporting) toFile(ctx context.Context, c *frame.Call) error {
	to := x.to
	if _, err := os.Lstat(to); err == nil {
		return frame.Misused("--out: %s is there already", words.Legible(to))
	}
	f, err := os.CreateTemp(filepath.Dir(to), filepath.Base(to)+".*.part")
	if err != nil {
		return frame.Misused("--out: %w", err)
	}
	defer os.Remove(f.Name()) // unless it was renamed
	defer f.Close()
	inFile, page := *c, *c.Page
	page.Out, page.Screen.Terminal = bufio.NewWriter(f), false // where nobody sees it
	inFile.Page, x.Call = &page, &inFile
	if err = x.all(ctx); err != nil {
		return c.Halted(ctx, err, x.of(x.done)+" read, no file written", x.rest(c, x.query, 0))
	}
	if err = x.Flush(); err == nil {
		err = f.Sync()
	}
	if err == nil {
		err = os.Rename(f.Name(), to)
	}
	if err != nil {
		return frame.Failed("--out: %w", err)
	}
	return c.Answer(exportedJSON{x.Args[0], x.done, to}, "wrote %s of %s to %s", words.Count(x.done, "dead message"), words.Legible(x.Args[0]), words.Legible(to))
}

type exportedJSON struct {
	Topic    string `json:"topic"`
	Exported int    `json:"exported"`
	File     string `json:"file"`
}
