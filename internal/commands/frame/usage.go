package frame

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slotmq/go-rmq/internal/text/words"
)

// Strict makes a command and those below it refuse wrong usage in one line which says
// what is right, and completes topics.
func (c *Call) Strict(cmd *cobra.Command) {
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return Misused("%w; %s%s -h shows the flags", expected(err), suggestions(cmd, err), cmd.CommandPath())
	})
	cmd.SuggestionsMinimumDistance = 2
	cmd.Long, cmd.Example = c.Ours(cmd.Long), c.Ours(cmd.Example)
	for _, sub := range cmd.Commands() {
		c.Strict(sub)
	}
	if cmd.HasSubCommands() && cmd.Run == nil && cmd.RunE == nil {
		cmd.Args, cmd.RunE = cobra.ArbitraryArgs, which
		return
	}
	least, most := Arguments(cmd.Use)
	cmd.Args = func(cmd *cobra.Command, args []string) error { return count(cmd, len(args), least, most) }
	if words := strings.Fields(cmd.Use); cmd.ValidArgsFunction == nil && len(words) > 1 && strings.Trim(words[1], "[].") == "TOPIC" {
		cmd.ValidArgsFunction = c.completeTopics
	}
}

// calls finds the calls of rmq in our own texts.
var calls = regexp.MustCompile(`(?m)(^|[ (])rmq ([a-z-])`)

// Ours is a text of ours with the name of this program in it.
func (c *Call) Ours(text string) string {
	if c.Name == "rmq" { // as the text has it
		return text
	}
	return calls.ReplaceAllString(text, "${1}"+c.Name+" $2")
}

// expected says what a flag takes, where Go says how it failed to read it.
func expected(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) {
		return err
	}
	why := invalid.Unwrap()
	switch invalid.GetFlag().Value.Type() {
	case "int", "int64":
		why = errors.New("not a whole number, or one that is too large")
	case "bool":
		why = errors.New("not true or false")
	}
	return fmt.Errorf("--%s is %q, %w", invalid.GetFlag().Name, invalid.GetValue(), why)
}

// suggestions asks whether a flag that does not exist was one of those that resemble it: by a few letters, or by its end, as act does console-act.
func suggestions(cmd *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return ""
	}
	name := unknown.GetSpecifiedName()
	flags := &cobra.Command{SuggestionsMinimumDistance: 2} // it knows what resembles the name of a command
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		near := &cobra.Command{Use: f.Name, Run: func(*cobra.Command, []string) {}}
		if strings.HasSuffix(f.Name, "-"+name) || strings.HasSuffix(name, "-"+f.Name) {
			near.SuggestFor = []string{name}
		}
		flags.AddCommand(near)
	})
	near := flags.SuggestionsFor(name)
	if len(name) < 2 || len(near) == 0 {
		return ""
	}
	return "did you mean --" + strings.Join(near, " or --") + "? "
}

// which is run for a command that only has others below it.
func which(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	line := fmt.Sprintf("%s has no command %q", cmd.CommandPath(), args[0])
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return Misused("%s; did you mean %s?", line, strings.Join(near, " or "))
	}
	return Misused("%s; %s -h shows those it has", line, cmd.CommandPath())
}

// Help is cobra's, with our error for unknown commands.
func Help() *cobra.Command {
	return &cobra.Command{
		Use:   "help [COMMAND...]",
		Short: "Explain a command",
		RunE: func(cmd *cobra.Command, args []string) error {
			about, rest, err := cmd.Root().Find(args)
			if err == nil && len(rest) > 0 {
				err = which(about, rest)
			}
			if err != nil {
				return err
			}
			about.InitDefaultHelpFlag() // else these are not among the flags
			about.InitDefaultVersionFlag()
			return about.Help()
		},
	}
}

// Arguments reads from a line of usage how many there may be; most is -1 for any number.
func Arguments(use string) (least, most int) {
	for _, word := range strings.Fields(use)[1:] {
		if !strings.HasPrefix(word, "[") {
			least++
		}
		most++
		if strings.Contains(word, "...") {
			return least, -1
		}
	}
	return least, most
}

func count(cmd *cobra.Command, n, least, most int) error {
	hint := "quote contents with spaces, -h says more"
	if watch := cmd.Flags().Lookup("watch"); watch != nil && watch.Changed {
		hint = "what belongs to --watch stands behind =, as in --watch=5s"
	}
	switch {
	case n < least:
		return Misused("too few arguments, %d of %d: %s; -h says more", n, least, usageLine(cmd))
	case most >= 0 && n > most:
		return Misused("too many arguments, %d and not %d: %s; %s", n, most, usageLine(cmd), hint)
	}
	return nil
}

// UsageLine is the command of the call with the names of its arguments.
func (c *Call) UsageLine() string { return usageLine(c.cmd) }

func usageLine(cmd *cobra.Command) string {
	return strings.TrimSuffix(cmd.UseLine(), " [flags]")
}

// completeTopics completes the first argument. A shell that waits is worse than one that
// does not know.
func (c *Call) completeTopics(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	const none = cobra.ShellCompDirectiveNoFileComp
	if len(args) > 0 {
		return nil, none
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), c.Patience/5)
	defer cancel()
	if err := c.Connect(ctx); err != nil {
		return nil, none
	}
	topics, err := c.Inspector.Topics(ctx)
	if err := c.Partly(err); err != nil {
		return nil, none
	}
	c.Forget() // a shell does not want to know
	var names []string
	for _, t := range topics {
		// A shell prints names as they are, and could not type others.
		if strings.HasPrefix(t.Name, begun) && words.Legible(t.Name) == t.Name {
			names = append(names, t.Name)
		}
	}
	return names, none
}
