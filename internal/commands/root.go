package commands

import (
	"fmt"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/commands/dead"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/commands/journals"
	"github.com/slotmq/go-rmq/internal/commands/messages"
	"github.com/slotmq/go-rmq/internal/commands/plans"
	"github.com/slotmq/go-rmq/internal/commands/topics"
	"github.com/slotmq/go-rmq/internal/manual"
	"github.com/slotmq/go-rmq/internal/version"
)

// The groups of commands, as the help shows them.
const (
	groupLook   = "look"
	groupChange = "change"
	groupServe  = "serve"
)

// subjects are all commands.
func (p Program) subjects() []frame.Command {
	all := slices.Concat(topics.Commands, messages.Commands, []frame.Command{dead.Command, plans.Command})
	if p.Databases != nil {
		all = append(all, journals.Command)
	}
	return all
}

// about is the help of a program. What it says of journals is for one that knows them.
const about = `Look into the queues of RMQ, and repair them.

Where is a message, and why has it not run:  rmq explain orders "order 4711"
What is late, failing or dead:               rmq stats
What is wrong with the servers:              rmq doctor

Redis is where --redis or RMQ_REDIS says, else at redis://localhost:6379. Forms:
  redis://user:password@host:6379/3              rediss:// is with TLS
  redis-cluster://user:password@host1:6379,host2:6379
  redis-sentinel://user:password@host1:26379,host2:26379?master_name=mymaster
All users of this machine can see a password in a command line; they cannot see
one in RMQ_REDIS.
%s
Tables are as wide as the terminal, 80 columns elsewhere, and shorten what does
not fit; --wide and --json do not. Contents that are not printable are quoted as
in Go, "\x00\n"; --base64 takes and shows them so. Exit codes: 0 done, 1 failed,
2 wrong usage, 130 interrupted.`

// root is the tree of all commands.
func (p Program) root(c *frame.Call) *cobra.Command {
	journal := ""
	if p.Databases != nil {
		journal = journals.About
	}
	root := &cobra.Command{
		Use:           p.Name,
		Short:         "Look into the queues of RMQ, and repair them",
		Long:          fmt.Sprintf(about, journal),
		Version:       builtVersion(),
		SilenceErrors: true, // the call prints them
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
	}
	root.SetIn(c.In)
	root.SetOut(c.Out) // which the completion asks for as soon as it is there
	root.SetErr(c.Errs)
	root.SetVersionTemplate(p.Name + " {{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))
	c.Flags(root.PersistentFlags())
	root.AddGroup(&cobra.Group{ID: groupLook, Title: "To look:"}, &cobra.Group{ID: groupChange, Title: "To change:"})
	add := func(group string, command frame.Command) {
		cmd := command.Cobra(c)
		cmd.GroupID = group
		root.AddCommand(cmd)
	}
	for _, command := range p.subjects() {
		add(map[bool]string{false: groupLook, true: groupChange}[command.Changes], command)
	}
	if len(p.Services) > 0 {
		root.AddGroup(&cobra.Group{ID: groupServe, Title: "To serve:"})
	}
	for _, service := range p.Services {
		add(groupServe, service)
	}
	root.SetHelpCommand(frame.Help())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.AddCommand(manual.Command())
	c.Strict(root)
	return root
}

// builtVersion is the version that was installed, or the one that this tree will be.
func builtVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return version.Number + ", built from source"
}
