package frame

import (
	"context"
	"flag"
	"math"
	"runtime/debug"
	"slices"

	"github.com/spf13/cobra"
)

// Command is one of the program.
type Command struct {
	Use, Short, Long, Example string

	Steps   Steps
	Flags   func(flags *Flags) Steps       // adds its flags, and returns what it does when they have been read
	GoFlags func(flags *flag.FlagSet) Step // the same, of a service: it works until it is ended
	Below   []Command                      // instead of all these

	Changes bool // it stands among those that change something
	Tells   bool // a journal gets what it changes
}

// Steps are those of a command, from what it checks without a server to what it prints. The first that fails ends it.
type Steps []Step

// Step is one of them. ctx ends with the first signal, and the process with the second.
type Step func(ctx context.Context, c *Call) error

// Connect is the step after which there is an Inspector.
func Connect(ctx context.Context, c *Call) error { return c.Connect(ctx) }

// AtTopic looks up the topic that the first argument names.
func AtTopic(ctx context.Context, c *Call) (err error) {
	c.Topic, err = c.Inspector.Topic(ctx, c.Args[0])
	return err
}

// OfContent reads the CONTENT that is the second argument.
func OfContent(_ context.Context, c *Call) (err error) {
	c.Content, err = c.ReadContent(c.Args[1])
	return err
}

// Timed asks the server for its time.
func Timed(ctx context.Context, c *Call) (err error) {
	c.Now, err = c.Time(ctx)
	return err
}

// NoZeroPriority refuses --priority 0, which the inspector would take for none.
func NoZeroPriority(_ context.Context, c *Call) error {
	if c.Changed("priority") && c.cmd.Flag("priority").Value.String() == "0" {
		return Misused("--priority is 0; it must be 17 or more")
	}
	return nil
}

// openJournal opens the journal, if there is one, for a command that changes messages.
func openJournal(ctx context.Context, c *Call) error {
	if dry, err := c.cmd.Flags().GetBool("dry-run"); err == nil && dry {
		return nil
	}
	if c.Elsewhere() {
		return Failed("RMQ_JOURNAL is set, and %s writes no journal: use rmqd, which has the same commands", c.Name)
	}
	_, err := c.OpenJournal(ctx, ToChange)
	return err
}

// run takes the steps.
func (s Steps) run(ctx context.Context, c *Call) error {
	for _, step := range s {
		if err := step(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// Cobra is the command in a call.
func (k Command) Cobra(c *Call) *cobra.Command {
	cmd := &cobra.Command{Use: k.Use, Short: k.Short, Long: k.Long, Example: k.Example}
	for _, below := range k.Below {
		cmd.AddCommand(below.Cobra(c))
	}
	steps := k.Steps
	switch {
	case k.Below != nil:
		return cmd
	case k.Flags != nil:
		steps = k.Flags(&Flags{cmd.Flags(), cmd})
	case k.GoFlags != nil:
		flags := flag.NewFlagSet(k.Use, flag.ContinueOnError)
		serve := k.GoFlags(flags)
		cmd.Flags().AddGoFlagSet(flags)
		steps = Steps{func(ctx context.Context, c *Call) error {
			debug.SetMemoryLimit(math.MaxInt64) // it is for calls that are over soon
			return serve(ctx, c)
		}}
	}
	if k.Tells {
		steps = slices.Insert(steps, 0, openJournal)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c.cmd, c.Args = cmd, args
		return steps.run(cmd.Context(), c)
	}
	return cmd
}
