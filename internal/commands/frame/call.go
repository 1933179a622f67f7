package frame

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/text/story"
)

// Call is one call of the program. Everything of it is used by one goroutine.
type Call struct {
	*Page
	Servers
	cmd  *cobra.Command
	Args []string // of the command

	// What a step has found for those behind it.
	Topic   inspector.Topic // [AtTopic]
	Content string          // [OfContent]
	Now     time.Time       // [Timed]
}

// New is a call of the program with that name, which knows journals if it has databases.
func New(name string, journals Journals, stdin io.Reader, stdout, stderr io.Writer) *Call {
	return &Call{Page: newPage(name, stdin, stdout, stderr), Servers: Servers{Journals: journals}}
}

// Flags adds the flags of all commands.
func (c *Call) Flags(flags *pflag.FlagSet) {
	flags.StringVar(&c.redis, "redis", "", "`URL` of Redis (or RMQ_REDIS)")
	flags.StringVar(&c.zk, "zk", "", "`host:port,...` of ZooKeeper, to see the workers of topics that are shared by it (or RMQ_ZK)")
	flags.StringVar(&c.zkRoot, "zk-root", "", "the workers' `node` in ZooKeeper, /rmq unless it is given (or RMQ_ZK_ROOT)")
	flags.StringVar(&c.zkAuth, "zk-auth", "", "`user:password` at ZooKeeper (or RMQ_ZK_AUTH)")
	flags.StringVar(&c.namespace, "namespace", "", "`name` in front of the topics' (or RMQ_NAMESPACE)")
	if c.Databases != nil {
		flags.StringVar(&c.journalURL, "journal", "", "`URL` of the journal (or RMQ_JOURNAL)")
	}
	flags.BoolVar(&c.JSON, "json", false, "print JSON, one object a line")
	flags.BoolVar(&c.Base64, "base64", false, "contents are base64, those given and those printed")
	flags.BoolVar(&c.Wide, "wide", false, "shorten nothing")
	flags.BoolVar(&c.NoColor, "no-color", false, "no colours (or NO_COLOR)")
}

// Finish ends the call, and says what went wrong. What it returns is the exit code.
func (c *Call) Finish(err error) int {
	jerr := c.closeJournal()
	missed := c.ReportMissed()
	err = cmp.Or(c.broken, err, jerr, c.Flush())
	if c.rdb != nil {
		_ = c.rdb.Close() // nothing is lost by it
	}
	c.Complain(missed...)
	switch {
	case err == nil && missed == nil:
		return 0
	case err == nil:
		return 1
	}
	line, code := c.Explain(err)
	c.Complain(line)
	return code
}

// Complain says what went wrong, a line each, where errors go.
func (c *Call) Complain(lines ...string) {
	for _, line := range lines {
		fmt.Fprintln(c.Errs, c.Name+": "+line)
	}
}

// Changed reports whether a flag of the command was given.
func (c *Call) Changed(flag string) bool { return c.cmd.Flags().Changed(flag) }

// Style is how lines about messages are written here.
func (c *Call) Style() story.Style {
	return story.Style{Moment: Moment, Content: c.Brief, Requeue: c.Name + " dead requeue"}
}

// flagOrEnv is the value of a flag, or else of the environment, or else a default. The
// flags have no defaults of their own, since the help would show what may be a password.
func flagOrEnv(flag, variable, otherwise string) string {
	return cmp.Or(flag, os.Getenv(variable), otherwise)
}

// Topics is the topic that the call names, or all.
func (c *Call) Topics(ctx context.Context) ([]inspector.Topic, error) {
	if len(c.Args) == 0 {
		topics, err := c.Inspector.Topics(ctx)
		return topics, c.Partly(err)
	}
	t, err := c.Inspector.Topic(ctx, c.Args[0])
	return []inspector.Topic{t}, err
}
