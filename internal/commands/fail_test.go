package commands

import (
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// filled are flags that a command needs to get as far as Redis.
var filled = map[string][]string{}

// commandLine is how to call a command: its path, arguments as Use names them, and flags.
type commandLine struct {
	path        []string // without rmq
	args        []string
	flags       []string
	least, most int
}

func (c commandLine) String() string { return "rmq " + strings.Join(c.path, " ") }

// with is the whole line, with n of the arguments or, if they are not as many, more.
func (c commandLine) with(n int, flags ...string) []string {
	args := c.args
	for len(args) < n {
		args = append(args, "more")
	}
	line := append(append(append([]string{}, c.path...), args[:n]...), c.flags...)
	return append(line, flags...)
}

// whole is the line with all arguments.
func (c commandLine) whole(flags ...string) []string { return c.with(len(c.args), flags...) }

// connecting are all commands but those that need no server.
func connecting() []commandLine {
	var all []commandLine
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if slices.Contains([]string{"help", "completion", "man"}, cmd.Name()) {
			return
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if cmd.HasSubCommands() {
			return
		}
		c := commandLine{path: strings.Fields(cmd.CommandPath())[1:]}
		c.least, c.most = frame.Arguments(cmd.Use)
		for _, word := range strings.Fields(cmd.Use)[1:] {
			if strings.Trim(word, "[].") == "TOPIC" {
				c.args = append(c.args, "orders")
			} else {
				c.args = append(c.args, "x")
			}
		}
		if cmd.Flags().Lookup("yes") != nil {
			c.flags = append(c.flags, "--yes")
		}
		c.flags = append(c.flags, filled[strings.Join(c.path, " ")]...)
		all = append(all, c)
	}
	walk(rootOf(program))
	return all
}

// wantFailure checks for one line that says what to do.
func wantFailure(t *testing.T, args []string, code int, words ...string) {
	t.Helper()
	r := call(args...)
	line := strings.TrimSuffix(r.errs, "\n")
	if r.code != code || strings.Contains(line, "\n") || !strings.HasPrefix(line, "rmq: ") || !strings.HasSuffix(r.errs, "\n") ||
		strings.Contains(r.errs, "hush") {
		t.Errorf("rmq %q: exit code %d and not %d, or not one line: %q", args, r.code, code, r.errs)
	}
	for _, w := range words {
		if !strings.Contains(line, w) {
			t.Errorf("rmq %q: %q does not say %q", args, line, w)
		}
	}
	if r.out != "" && args[len(args)-1] != "doctor" {
		t.Errorf("rmq %q printed %q", args, r.out)
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	for _, c := range connecting() {
		wantFailure(t, c.whole("--nonsense"), 2, "--nonsense", "-h shows the flags")
		wantFailure(t, c.whole("--redis", "http://:hush@host"), 2, "--redis or RMQ_REDIS", "redis-cluster://")
		wantFailure(t, c.whole("--namespace", "{}", "--redis", "redis://127.0.0.1:1"), 2, "Namespace")
		wantFailure(t, c.whole("--zk", "zk1", "--redis", "redis://127.0.0.1:1"), 2, "Servers", "host:port")
		if c.least > 0 {
			wantFailure(t, c.with(c.least-1), 2, "too few arguments", c.String())
		}
		if c.most >= 0 {
			wantFailure(t, c.with(c.most+1), 2, "too many arguments", c.String())
		}
	}
	for _, c := range []struct {
		args  string
		words string
	}{
		{"tpoics", "did you mean topics?"},
		{"nonsense", "rmq -h shows those it has"},
		{"help nonsense", "rmq -h shows those it has"},
		{"completion nonsense", "completion -h"},
		{"completion bash nonsense", "too many arguments"},
		{"--nonsense", "unknown flag: --nonsense; rmq -h shows the flags"},
		{"stats --jsn", "unknown flag: --jsn; did you mean --json? rmq stats -h shows the flags"},
		{"stats --root /rmq", "unknown flag: --root; did you mean --zk-root? rmq stats -h"},
		{"stats --redis-namespace x", "unknown flag: --redis-namespace; did you mean --namespace? rmq stats -h"},
		{"peek orders --state nonsense", "waiting, in-flight, retrying or dead"},
		{"peek orders --limit 0", "1 or more"},
		{"peek orders --limit many", `--limit is "many", not a whole number`},
		{"peek orders --slot 3,x", `--slot is "3,x", not slots such as 3, 3,7 or 0-5`},
		{"pause orders --slot=", "not slots such as"},
		{"pause orders --yes=maybe", `--yes is "maybe", not true or false`},
		{"stats orders --watch 5s", "--watch=5s"},
		{"explain orders --base64 x", "base64"},
		{"stats --watch=1ms", "100ms or more"},
		{"stats --watch=often", `--watch is "often", not a duration such as 90s`},
	} {
		wantFailure(t, strings.Fields(c.args), 2, c.words)
	}
}

// If nothing can work at all, each command says in the same way what to do.
func TestNoRedis(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	rdb := s.Client(t)
	must.Do(t, rdb.Do(ctx, "acl", "setuser", "locked", "on", ">hush", "+ping").Err())
	must.Do(t, rdb.Do(ctx, "config", "set", "requirepass", "hush").Err())
	var calls sync.WaitGroup // most of the time is waiting for somebody to answer
	defer calls.Wait()
	for _, c := range connecting() {
		for _, no := range []struct {
			url   string
			words []string
		}{
			{"redis://127.0.0.1:1", []string{"Redis does not answer at 127.0.0.1:1", "connection refused", "--redis or RMQ_REDIS"}},
			{"redis-cluster://127.0.0.1:1,127.0.0.1:2", []string{"Redis does not answer at 127.0.0.1:1, 127.0.0.1:2", "connection refused"}},
			{"redis://" + s.Addr(), []string{"asks for a password", "--redis or RMQ_REDIS"}},
			{"redis://orders:wrong@" + s.Addr(), []string{`does not know user "orders"`, "--redis or RMQ_REDIS"}},
			{"redis://locked:hush@" + s.Addr(), []string{`grant Redis user "locked"`, "docs/DEPLOYMENT.md"}},
			{"redis-cluster://:hush@" + s.Addr(), []string{"this Redis is no Cluster"}},
		} {
			if strings.Join(c.path, " ") == "doctor" { // it says so on stdout, and more
				no.words = []string{"failed", "the lines above say what to do"}
			}
			calls.Go(func() { wantFailure(t, append([]string{"--redis", no.url}, c.whole()...), 1, no.words...) })
		}
	}
}

// If the URL lets the client wait longer, the program waits as long for the first answer.
func TestReadTimeoutOfTheURL(t *testing.T) {
	t.Parallel()
	url := "redis://" + servertest.Redis(t).Addr()
	hasty := program
	hasty.Patience = time.Nanosecond
	for url, code := range map[string]int{url + "?read_timeout=100ns": 1, url + "?read_timeout=1m": 0} {
		if got := hasty.Run(ctx, []string{"--redis", url, "stats"}, strings.NewReader(""), io.Discard, io.Discard); got != code {
			t.Errorf("%s: exit code %d", url, got)
		}
	}
}

func TestUnknownTopic(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	define(t, s.Client(t), "invoices")
	for _, c := range connecting() {
		if len(c.args) > 0 && c.args[0] == "orders" {
			wantFailure(t, append([]string{"--redis", "redis://" + s.Addr()}, c.whole()...), 1, "no such topic", "orders", "invoices")
		}
	}
}

// What the system says about a file is no network that fails.
func TestFullDiskIsNoNetwork(t *testing.T) {
	t.Parallel()
	call := program.call(nil, nil, nil)
	for _, c := range []struct {
		err  error
		says string
	}{
		{fmt.Errorf("write the output: %w", &os.PathError{Op: "write", Path: "/dev/stdout", Err: syscall.ENOSPC}), "write the output: write /dev/stdout: no space left on device"},
		{fmt.Errorf("peek: %w", &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}), "peek: read tcp: connection reset by peer; is Redis running? rmq doctor looks at it"},
		{fmt.Errorf("peek: %w", os.ErrDeadlineExceeded), "peek: i/o timeout; is Redis running? rmq doctor looks at it"},
	} {
		if line, code := call.Explain(c.err); line != c.says || code != 1 {
			t.Errorf("%q, %d", line, code)
		}
	}
}

// A server of a Cluster, without saying that it is one.
func TestClusterWithoutSayingSo(t *testing.T) {
	t.Parallel()
	c := servertest.Cluster(t, 3, 0)
	define(t, c.Client(t), "orders")
	for _, n := range c.Nodes() {
		r := call("--redis", "redis://"+n.Addr(), "stats", "orders")
		if r.code != 1 || !strings.Contains(r.errs, "begin with redis-cluster://") {
			t.Errorf("%+v", r)
		}
	}
}

func define(t testing.TB, rdb redis.UniversalClient, topic string) {
	t.Helper()
	send(t, rdb, rangeMerge(topic), soon("first"))
}
