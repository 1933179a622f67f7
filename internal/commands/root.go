package commands

import (
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/manual"
	"github.com/slotmq/go-rmq/internal/version"
)

// The groups of commands, as the help shows them.
const (
	groupLook   = "look"
	groupChange = "change"
	groupServe  = "serve"
)

// looking are the commands that change nothing.
func (a *app) looking() []*cobra.Command {
	return []*cobra.Command{
		a.topicsCommand(), a.statsCommand(), a.slotsCommand(), a.workersCommand(),
		a.peekCommand(), a.explainCommand(), a.verifyCommand(), a.doctorCommand(),
	}
}

// changing are the commands that change something.
func (a *app) changing() []*cobra.Command {
	all := []*cobra.Command{
		a.tells(a.sendCommand()), a.tells(a.cancelCommand()), a.tells(a.rescheduleCommand()), a.deadCommand(), a.tells(a.purgeCommand()),
		a.everyCommand(), a.pauseCommand(), a.resumeCommand(), a.limitCommand(), topicCommand(a),
	}
	if a.Databases != nil {
		all = append(all, a.journalCommand())
	}
	return all
}

// root is the tree of all commands.
func (a *app) root() *cobra.Command {
	journals := ""
	if a.Databases != nil {
		journals = aboutJournals
	}
	root := &cobra.Command{
		Use:   a.Name,
		Short: "Look into the queues of RMQ, and repair them",
		Long: `Look into the queues of RMQ, and repair them.

Where is a message, and why has it not run:  rmq explain orders "order 4711"
What is late, failing or dead:               rmq stats
What is wrong with the servers:              rmq doctor

Redis is where --redis or RMQ_REDIS says, else at redis://localhost:6379. Forms:
  redis://user:password@host:6379/3              rediss:// is with TLS
  redis-cluster://user:password@host1:6379,host2:6379
  redis-sentinel://user:password@host1:26379,host2:26379?master_name=mymaster
All users of this machine can see a password in a command line; they cannot see
one in RMQ_REDIS.
` + journals + `
Tables are as wide as the terminal, 80 columns elsewhere, and shorten what does
not fit; --wide and --json do not. Contents that are not printable are quoted as
in Go, "\x00\n"; --base64 takes and shows them so. Exit codes: 0 done, 1 failed,
2 wrong usage, 130 interrupted.`,
		Version:       builtVersion(),
		SilenceErrors: true, // run prints them
		SilenceUsage:  true,
		Args:          cobra.ArbitraryArgs,
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.errs)
	root.SetVersionTemplate(a.Name + " {{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))

	flags := root.PersistentFlags()
	flags.StringVar(&a.redis, "redis", "", "`URL` of Redis (or RMQ_REDIS)")
	flags.StringVar(&a.zk, "zk", "", "`host:port,...` of ZooKeeper, to see the workers of topics that are shared by it (or RMQ_ZK)")
	flags.StringVar(&a.zkRoot, "zk-root", "", "the workers' `node` in ZooKeeper, /rmq unless it is given (or RMQ_ZK_ROOT)")
	flags.StringVar(&a.zkAuth, "zk-auth", "", "`user:password` at ZooKeeper (or RMQ_ZK_AUTH)")
	flags.StringVar(&a.namespace, "namespace", "", "`name` in front of the topics' (or RMQ_NAMESPACE)")
	if a.Databases != nil {
		flags.StringVar(&a.journalURL, "journal", "", "`URL` of the journal (or RMQ_JOURNAL)")
	}
	flags.BoolVar(&a.json, "json", false, "print JSON, one object a line")
	flags.BoolVar(&a.base64, "base64", false, "contents are base64, those given and those printed")
	flags.BoolVar(&a.wide, "wide", false, "shorten nothing")
	flags.BoolVar(&a.noColor, "no-color", false, "no colours (or NO_COLOR)")

	root.AddGroup(&cobra.Group{ID: groupLook, Title: "To look:"}, &cobra.Group{ID: groupChange, Title: "To change:"})
	add := func(group string, commands []*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add(groupLook, a.looking())
	add(groupChange, a.changing())
	if len(a.Services) > 0 {
		root.AddGroup(&cobra.Group{ID: groupServe, Title: "To serve:"})
	}
	for _, s := range a.Services {
		add(groupServe, []*cobra.Command{a.serviceCommand(s)})
	}
	root.SetHelpCommand(helpCommand())
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	root.AddCommand(manual.Command())
	a.strict(root)
	return root
}

// builtVersion is the version that was installed, or the one that this tree will be.
func builtVersion() string {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return version.Number + ", built from source"
}
