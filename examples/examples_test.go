// Package examples_test runs the examples as their readers would, and looks at
// what they print.
package examples_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

func TestExamples(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	if out, err := exec.Command("go", "build", "-ldflags=-s -w", "-o", bin, "./...").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for name, stages := range stories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			program := filepath.Join(bin, name)
			t.Run("in memory", func(t *testing.T) {
				t.Parallel()
				if name == "zookeeper" {
					servertest.SharedZooKeeper(t) // is there one?
				}
				succeeds(t, stages, program)
			})
			t.Run("real Redis", func(t *testing.T) {
				t.Parallel()
				switch name {
				case "worker":
					twoShells(t, program, "redis://"+servertest.Redis(t).Addr())
					return
				case "zookeeper": // has ZooKeeper in any case
					return
				}
				server := servertest.Redis(t)
				succeeds(t, stages, program, "-redis", "redis://"+server.Addr())
				if left := server.Client(t).Keys(context.Background(), "*").Val(); len(left) > 0 {
					t.Errorf("keys were left behind: %q", left)
				}
			})
			t.Run("real ZooKeeper", func(t *testing.T) {
				t.Parallel()
				onZooKeeper(t, name, program, stages)
			})
			if name == "quickstart" {
				t.Run("interrupted", func(t *testing.T) {
					t.Parallel()
					interrupted(t, program)
				})
			}
			t.Run("wrong flag", func(t *testing.T) {
				t.Parallel()
				for _, args := range [][]string{{"-rediss", "x"}, {"-redis"}, {"-redis", "localhost"}, {"-redis", "http://localhost"}, {"localhost:6379"}} {
					fails(t, 2, name+" -h shows the flags", program, args...)
				}
			})
			t.Run("unreachable Redis", func(t *testing.T) {
				t.Parallel()
				fails(t, 1, "Redis does not answer", program, "-redis", "redis://"+servertest.Nobody(t))
			})
		})
	}
}

// interrupted ends the quickstart in its third story. The table has what the two before have measured.
func interrupted(t *testing.T, program string) {
	cmd := exec.Command(program)
	out, err := cmd.StdoutPipe()
	must.Do(t, err)
	must.Do(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill() }() // it has ended unless the test fails
	said := ""
	for lines := bufio.NewScanner(out); lines.Scan(); said += lines.Text() + "\n" {
		if strings.HasPrefix(lines.Text(), "3. fixed time") {
			must.Do(t, cmd.Process.Signal(os.Interrupt))
		}
	}
	if err := cmd.Wait(); err == nil || cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("it ended with %v", err)
	}
	// A machine that stands still for a moment may be in a later story by then.
	for _, line := range []string{`merge .* 50 saw the newest`, `priority .* 12 of 12 in order of priority`, `.* broke off  <- WRONG`, `(two workers .*|.* not told  <- WRONG)`} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(said) {
			t.Errorf("%s is not in\n%s", line, said)
		}
	}
}

// withoutZooKeeper are the examples that share no slots.
var withoutZooKeeper = []string{"produceronly", "ownclients"}

func onZooKeeper(t *testing.T, name, program string, stages []string) {
	server := servertest.Redis(t)
	url := "redis://" + server.Addr()
	if slices.Contains(withoutZooKeeper, name) {
		fails(t, 2, name+" -h shows the flags", program, "-redis", url, "-zk", "localhost:2181")
		return
	}
	zoo := servertest.SharedZooKeeper(t)
	if name == "worker" {
		twoShells(t, program, url, "-zk", zoo.Addr())
	} else {
		succeeds(t, slices.Concat(stages, zooKeeperStories[name]), program, "-redis", url, "-zk", zoo.Addr())
	}
	if left := server.Client(t).Keys(context.Background(), "*").Val(); len(left) > 0 {
		t.Errorf("keys were left behind: %q", left)
	}
	left, _, err := zoo.Client(t, await.Patience).Children("/rmq")
	left = slices.DeleteFunc(left, func(node string) bool { return !strings.HasPrefix(node, name+"-") }) // others run beside
	if len(left) > 0 || err != nil {
		t.Errorf("nodes were left behind: %q, %v", left, err)
	}

	for _, args := range [][]string{{"-zk", zoo.Addr()}, {"-redis", url, "-zk", "localhost"}, {"-redis", url, "-zk", zoo.Addr() + ",/rmq"}} {
		fails(t, 2, name+" -h shows the flags", program, args...)
	}
	if name == "quickstart" { // takes its seconds, and is the same in all
		addr := servertest.Nobody(t)
		fails(t, 1, "ZooKeeper is unreachable: "+addr, program, "-redis", url, "-zk", addr)
	}
}

// zooKeeperStories are what some examples print besides.
var zooKeeperStories = map[string][]string{
	"quickstart": {
		`and with the ZooKeeper at 127\.0\.0\.1:\d+\.`,
		`ZooKeeper shows: a-\S+ has( \d+){8}\.`, `ZooKeeper shows: b-\S+ has( \d+){8}\.`,
		`ZooKeeper shows: b-\S+ has 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15\.`,
	},
}

// stories are what the examples print, stage by stage, as regular expressions.
var stories = map[string][]string{
	"quickstart": {
		`^RMQ works with (an in-memory Redis|the Redis at 127\.0\.0\.1)`,
		`50 were stored, 950 merged`, `50 deliveries, the last one \d\.\d\d s`, `50 of them found the newest price`,
		`Handled in this order: 1000000, 999, 900, 850, 620, 501, 500, 300, 200, 45, 33, 17\.`,
		`mail \d+ +due at \d\d:\d\d:\d\d\.\d{3}, delivered \d+\.\d ms later`,
		`Again: sent "remind Ann" for .*: merged`, `ms after the second time`,
		`file 13, delivery  1`, `file 13, delivery 17`, `file 14, its neighbour in slot \d+, was done`, `"line 3: not a number" after 17 deliveries`,
		`8 slots moved: `, `4800 jobs handled: 0 lost, 0 handled twice, 0 at the same time`,
		`(?m)^story +what you should see +measured$`,
		`(?m)^merge .* 50 deliveries, 950 merged, 50 saw the newest$`, `(?m)^priority .* 12 of 12 in order of priority$`,
		`(?m)^fixed time .* 20 delivered, 0 early; `, `(?m)^reschedule .* 1 delivery, `, `(?m)^poison .* 17 deliveries, then dead; `,
		`(?m)^two workers .* 0 lost, 0 twice, 0 at once; 8 slots moved in `,
		`(?m)^ok \(\d+\.\d s\)$`,
	},
	"price": {
		`3000 price changes of 90 items`, `90 pictures rendered, 2910 less`,
		`gold +\(priority 900\): 30 pictures`, `silver \(priority 500\): 30 pictures`, `bronze \(priority 100\): 30 pictures`,
	},
	"audience": {
		`asked 720 times for 18 computations, computed 18 times`, `all audiences together: up to [2-6]\b`,
		`new customers: +up to 1\n`, `VIPs: +up to 1\n`,
	},
	"searchindex": {
		`contact is in the index, as of save 1`, `news is written: 45 saves`, `news is in the index, as of save 45`,
		`All is in the index\. It took \d+ times for 46 saves\.`,
	},
	"nightly": {
		`Three instances have declared the report, and work\.`, `night 3: written by a`, `a stops`, `night 9: written by [bcd]`,
		`d starts, and declares the report, too`, `It is one plan still: 1\.`,
	},
	"orderclose": {
		`6 orders were made`, `orders 2 and 5 are paid`, `order 3 gets 20 minutes more`,
		`minute ([3-9]\d|\d{3,})\.\d  order 1: time is up, not paid: closed`, `minute ([5-9]\d|\d{3,})\.\d  order 3: time is up, not paid: closed`,
	},
	"produceronly": {
		`priority 100: stored in slot 48`, `priority 700: merged in slot 48`, `ZRANGE .*thumbnails_48: \[\{700 photo 1\}\]`,
		`message 0: stored`, `message 1: stored`, `a mistake \(field Priority\)`, `another kind: .*already defined differently`, `context canceled`,
	},
	"ownclients": {`(?m)^a client of one server.*: sent and handled in \d+\.\d ms`},
	"zookeeper": {
		`a has the slots( \d+){8}, and b( \d+){8}\. ZooKeeper has these nodes:`, `(?m)^  /rmq\S*/assign/\S*beats  {`, `(?m)^  /rmq\S*/coordinator  [ab]-`, `kill -9: a is dead\.`,
		`b has all 16 slots\. The 8 of a stood still for \d+\.\d to \d+\.\d s; of the 8 of b, 0 moved\.`,
	},
	"shutdown": {
		`the short handler begins`, `signal: the worker closes; handlers have 1 s`, `the short handler is through`,
		`[1-9]\d*\.\d\d s  the long handler stops, because the worker is closing`, `\d s  closed`, `gets the long one, as delivery 1: no attempt was spent`,
	},
	"fence": {
		`delivery 1 has the number \d+, and learns: order 4711 is at the warehouse`, `delivery 1 freezes`,
		`delivery 2 has the number \d+, and learns: order 4711 is delivered`, `delivery 2 writes "delivered"`,
		`delivery 1 is refused: \d+ is older than \d+`, `(?m)^The order is "delivered"\. Without the number it would be "at the warehouse"\.$`,
	},
	"worker": {`slots were shared out`, `worker started`, `sent 20 jobs`, `job \S+-20: slot \d+`, `worker closed`, `handled 20 jobs, in slots `},
}

// succeeds runs a program and looks for the stages of its story in what it
// prints. Some come in an order of their own.
func succeeds(t *testing.T, stages []string, program string, args ...string) {
	t.Helper()
	code, stdout, stderr := run(t, program, args...)
	for range 2 { // a machine that stands still for a second changes what the quickstart measures, but not each time
		if strings.Contains(stdout, "<- WRONG") {
			code, stdout, stderr = run(t, program, args...)
		}
	}
	if code != 0 || stderr != "" && filepath.Base(program) != "zookeeper" { // whose workers warn of what is done to them
		t.Errorf("exit code %d\n%s", code, stderr)
	}
	for _, stage := range stages {
		if !regexp.MustCompile(stage).MatchString(stdout) {
			t.Errorf("%s is not in what was printed", stage)
		}
	}
	if t.Failed() {
		t.Log(stdout)
	}
}

// fails runs a program that shall end with a code and one line that says why.
func fails(t *testing.T, want int, says, program string, args ...string) {
	t.Helper()
	code, stdout, stderr := run(t, program, args...)
	if code != want || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, says) {
		t.Errorf("%q: exit code %d, want %d, and one line that says %q; got\n%s%s", args, code, want, says, stdout, stderr)
	}
}

func run(t *testing.T, program string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 5*await.Patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &out, &errs, await.Patience
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), out.String(), errs.String()
}
