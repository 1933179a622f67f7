package commands

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/testing/must"
)

// serving is a program with all that a program may have: a journal, and a service.
var serving = Program{Name: "rmqd", Databases: withJournal.Databases, Services: []frame.Command{{
	Use: "serve [TOPIC...]", Short: "Serve", Long: "Serve until Ctrl-C, as rmq stats says.", Example: "  rmqd serve",
	GoFlags: func(flags *flag.FlagSet) frame.Step {
		flags.Duration("wait", time.Second, "wait so `long`")
		flags.Bool("act", false, "buttons")
		return func(context.Context, *frame.Call) error { return errors.New("served") }
	},
}}}

// What a person reads of a command before it runs stays as it is, to the byte: its help, and what is said of a flag
// that cannot be read. With -update it is written as it is now.
func TestUsageIsAsWritten(t *testing.T) {
	t.Parallel()
	const file = "testdata/usage.txt"
	var all strings.Builder
	flagsOfAll := ""
	tell := func(p Program, args ...string) {
		r := run(p, args...)
		if flagsOfAll != "" {
			r.out = strings.ReplaceAll(r.out, flagsOfAll, "\n(and those of all commands)\n")
		}
		fmt.Fprintf(&all, "$ %s %s\n%s%s", p.Name, strings.Join(args, " "), r.out, r.errs)
	}
	var walk func(p Program, cmd *cobra.Command)
	walk = func(p Program, cmd *cobra.Command) {
		path := strings.Fields(cmd.CommandPath())[1:]
		tell(p, append(path, "--help")...)
		if flagsOfAll == "" && cmd.HasParent() {
			_, rest, _ := strings.Cut(run(p, append(path, "--help")...).out, "\nGlobal Flags:\n")
			flagsOfAll = "\nGlobal Flags:\n" + rest
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Value.Type() != "string" && !strings.HasPrefix(f.Value.Type(), "stringA") && f.Name != "help" && cmd.InheritedFlags().Lookup(f.Name) == nil {
				tell(p, append(path, "--"+f.Name+"=?")...)
			}
		})
		for _, sub := range cmd.Commands() {
			if sub.Name() != "completion" {
				walk(p, sub)
			}
		}
	}
	walk(serving, rootOf(serving))
	tell(program, "--help")
	if *operationsUpdate {
		must.Do(t, os.WriteFile(file, []byte(all.String()), 0o644))
	}
	written, err := os.ReadFile(file)
	must.Do(t, err)
	was, is := strings.Split(string(written), "\n"), strings.Split(all.String(), "\n")
	for n := range min(len(was), len(is)) {
		if was[n] != is[n] {
			t.Fatalf("%s, line %d: %q, written: %q", file, n+1, is[n], was[n])
		}
	}
	if len(was) != len(is) {
		t.Errorf("%s has %d lines, now %d", file, len(was), len(is))
	}
}
