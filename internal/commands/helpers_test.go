package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/text/columns"
)

var ctx = context.Background()

// result is what a call of rmq left.
type result struct {
	code      int
	out, errs string
}

// program is what the tests call.
var program = Program{Name: "rmq"}

// call runs rmq in this process, with nothing on stdin.
func call(args ...string) result { return run(program, args...) }

// run runs any program so.
func run(p Program, args ...string) result {
	var out, errs bytes.Buffer
	code := p.Run(ctx, args, strings.NewReader(""), &out, &errs)
	return result{code, out.String(), progress.ReplaceAllString(errs.String(), "")}
}

// progress is a line that says how far a call has come. A call prints it after 5 s, which may happen to any on a busy
// machine.
var progress = regexp.MustCompile(`(?m)^\S.*  \d+( of \d+)?  [\d.]+/s.*\n`)

// rootOf is the tree of all commands of a program.
func rootOf(p Program) *cobra.Command { return p.root(p.call(nil, io.Discard, io.Discard)) }

// at is a server that rmq is called at.
type at struct {
	rdb redis.UniversalClient
	url string
}

// call runs rmq there. What it prints as text must fit a page.
func (s at) call(t testing.TB, args ...string) result {
	t.Helper()
	r := call(append([]string{"--redis", s.url}, args...)...)
	if !strings.Contains(strings.Join(args, " "), "--json") && !strings.Contains(strings.Join(args, " "), "--wide") {
		fits(t, r.out, 80)
	}
	return r
}

// text is what a call prints that goes well.
func (s at) text(t testing.TB, args ...string) string {
	t.Helper()
	r := s.call(t, args...)
	if r.code != 0 || r.errs != "" {
		t.Errorf("rmq %q: exit code %d: %s", args, r.code, r.errs)
	}
	return r.out
}

// objects are the lines of JSON that it prints.
func (s at) objects(t testing.TB, args ...string) []map[string]any {
	t.Helper()
	return objectsOf(t, s.text(t, append(args, "--json")...))
}

// objectsOf are lines of JSON.
func objectsOf(t testing.TB, out string) (all []map[string]any) {
	t.Helper()
	for line := range strings.Lines(out) {
		var one map[string]any
		if err := json.Unmarshal([]byte(line), &one); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, one)
	}
	return all
}

// flat is text in one line, as it was before it was broken at the end of the screen.
func flat(s string) string { return strings.Join(strings.Fields(s), " ") + " " }

// fits fails the test for a line that is too long, or has spaces at its end.
func fits(t testing.TB, out string, width int) {
	t.Helper()
	for line := range strings.Lines(out) {
		line = strings.TrimSuffix(line, "\n")
		if columns.Of(line) > width || strings.HasSuffix(line, " ") {
			t.Errorf("%d columns: %q", columns.Of(line), line)
		}
	}
}

// onEach runs a test on a Redis and on a Cluster that it has for itself.
func onEach(t *testing.T, test func(t *testing.T, s at)) {
	t.Helper()
	onServers(t, servertest.LentRedis, servertest.LentCluster, test)
}

// onOwn is for tests that change the configuration or the users of their servers.
func onOwn(t *testing.T, test func(t *testing.T, s at)) {
	t.Helper()
	one := func(t testing.TB) *servertest.Server { return servertest.Redis(t) }
	many := func(t testing.TB) *servertest.RedisCluster { return servertest.Cluster(t, 3, 0) }
	onServers(t, one, many, test)
}

func onServers(t *testing.T, one func(testing.TB) *servertest.Server, many func(testing.TB) *servertest.RedisCluster, test func(t *testing.T, s at)) {
	t.Helper()
	t.Parallel()
	t.Run("redis", func(t *testing.T) {
		s := one(t)
		test(t, at{s.Client(t), "redis://" + s.Addr()})
	})
	t.Run("cluster", func(t *testing.T) {
		c := many(t)
		var addrs []string
		for _, n := range c.Nodes() {
			addrs = append(addrs, n.Addr())
		}
		test(t, at{c.Client(t), "redis-cluster://" + strings.Join(addrs, ",")})
	})
}

var (
	anyMoment   = regexp.MustCompile(`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3}`)
	anyDuration = regexp.MustCompile(`\b(\d+(ms|d|h|m|s))+\b`)
	anyLongRun  = regexp.MustCompile(`(?s)\n? *handler +has run it for [^\n]*|\n\na handler of .* has run .*`) // where a machine is slow
	anySpaces   = regexp.MustCompile(` {2,}`)
)

// steady replaces what is different each time: times, durations, ids of workers.
func steady(s string, workers ...string) string {
	for _, w := range workers {
		s = strings.ReplaceAll(s, w, "WORKER")
	}
	s = anyLongRun.ReplaceAllString(s, "")
	s = anyMoment.ReplaceAllString(s, "TIME")
	s = anyDuration.ReplaceAllString(s, "SPAN")
	s = strings.NewReplacer("now (TIME)", "SPAN ago (TIME)", "taken now", "taken SPAN ago").Replace(s)
	return strings.ReplaceAll("\n"+anySpaces.ReplaceAllString(s, "  "), "\n  ", "\n")[1:]
}

// wantText compares without what is different each time.
func wantText(t testing.TB, got, want string, workers ...string) {
	t.Helper()
	if got, want = strings.TrimSpace(steady(got, workers...)), strings.TrimSpace(steady(strings.ReplaceAll(want, "\t", ""))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
