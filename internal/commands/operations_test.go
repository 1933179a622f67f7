package commands

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/nighttest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/transcript"
	"github.com/slotmq/go-rmq/internal/text/columns"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// docs/OPERATIONS.md shows a night with a poison message. The test plays it,
// so the document shows exactly what the commands print.

var operationsUpdate = flag.Bool("update", false, "rewrite the transcript in docs/OPERATIONS.md")

const operationsFile = "../../docs/OPERATIONS.md"

// thatNight is when the transcript says that it was played.
var thatNight = time.Date(2026, 1, 31, 3, 7, 0, 0, time.UTC)

func TestOperations(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	p := &play{T: t, rdb: server.Client(t), url: "redis://" + server.Addr()}
	p.run()
	transcript.Check(t, operationsFile, "poison", p.text.String(), *operationsUpdate, "go test ./internal/commands -run Operations -update")
}

// play is one night.
type play struct {
	*testing.T
	rdb   *redis.Client
	url   string
	stage *nighttest.Night
	text  strings.Builder
}

func (p *play) run() {
	p.stage = nighttest.Begin(p, p.rdb)

	p.say("A customer calls: order 4711 has not been shipped. Is anything wrong?")
	p.rmq("", "stats")
	p.say("312 dead orders. Which are they, and why?")
	p.rmq("", "dead", "list", "orders", "--limit", "5")
	p.rmq("", "dead", "list", "orders", "--content", "order 4711*")
	p.say("Where is the order of this customer, and what is known of it?")
	p.rmq("", "explain", "orders", nighttest.Poison)
	p.rmq("", "dead", "show", "orders", nighttest.Poison)
	p.say("It was tried 17 times, and each time its amount could not be read: a poison message. It does not block the others any " +
		"more. You repair the handler and deploy it: it now reads a comma in an amount, and knows the tax code XI, for which " +
		"the other orders died.")
	p.stage.Deploy(p)
	p.say("First this one alone, to see whether the handler is right now.")
	p.rmq("", "dead", "requeue", "orders", nighttest.Poison)
	p.stage.AwaitDead(p, nighttest.Others)
	p.rmq("", "explain", "orders", nighttest.Poison)
	p.say("Handled. Now the others, slowly, so that the shop can keep up. How many are they?")
	p.rmq("", "dead", "requeue", "orders", "--reason", "tax code", "--rate", "100/s", "--dry-run")
	p.rmq("y\n", "dead", "requeue", "orders", "--reason", "tax code", "--rate", "100/s")
	p.stage.AwaitDead(p, 0)
	p.say("No message is dead or late, and the stored data is sound.")
	p.rmq("", "stats")
	p.rmq("", "verify")
}

// say explains.
func (p *play) say(words string) {
	fmt.Fprintf(&p.text, "%s\n\n", strings.Join(columns.Wrap(words, 120), "\n"))
}

// rmq is a call, as a terminal shows it, with the answer that was typed.
func (p *play) rmq(answer string, args ...string) {
	p.Helper()
	p.stage.Age(p)
	var shown bytes.Buffer
	c := program.call(strings.NewReader(answer), &shown, &shown)
	c.Status.Terminal = true
	root := program.root(c)
	root.SetArgs(append([]string{"--redis", p.url}, args...))
	c.Finish(root.ExecuteContext(ctx))

	line := "rmq"
	for _, arg := range args {
		line += " " + words.Quoted(arg)
	}
	out := strings.ReplaceAll(shown.String(), "[y/N] ", "[y/N] "+answer)
	fmt.Fprintf(&p.text, "```\n$ %s\n%s```\n\n", line, p.steady(out))
}

var barOfOld = regexp.MustCompile(`(?m)^.*\r`)

// steady replaces what is another each time: the day, the id of the worker, the bar on its way,
// and how fast it was to a hundredth.
func (p *play) steady(out string) string {
	out = barOfOld.ReplaceAllString(out, "")
	out = regexp.MustCompile(`(\d+ of \d+)  [\d.]+/s`).ReplaceAllString(out, "$1  100/s")
	out = regexp.MustCompile(`(?m) +$`).ReplaceAllString(out, "")
	out = strings.ReplaceAll(out, p.stage.Worker, "app7-c9a21165")
	return anyMoment.ReplaceAllStringFunc(out, func(text string) string {
		t, err := humantime.ParseInstant(text)
		must.Do(p, err)
		return t.Add(thatNight.Sub(p.stage.Zero)).UTC().Format("2006-01-02 15:04:05.000")
	})
}

// Each call of rmq in a document can be made: there is such a command, and it has such flags. The services of rmqd are
// looked at by its own tests.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	calls := regexp.MustCompile("(?m)^(?:\\$ )?(?:bin/)?(rmqd? .*?)(?: +# .*| \\||$)")
	inText := regexp.MustCompile("`(rmqd? [a-z][^`]*)`")
	for _, file := range []string{operationsFile, "../../README.md", "../../docs/REFERENCE.md", "../../docs/DEPLOYMENT.md", "../../docs/JOURNAL.md"} {
		document, err := os.ReadFile(file)
		must.Do(t, err)
		for n, block := range strings.Split(string(document), "```") {
			if n%2 == 0 {
				for _, call := range inText.FindAllStringSubmatch(block, -1) {
					checkCall(t, file, strings.ReplaceAll(call[1], "\n", " "), false)
				}
				continue
			}
			for _, call := range calls.FindAllStringSubmatch(block, -1) {
				checkCall(t, file, call[1], true)
			}
		}
	}
	for _, c := range connecting() {
		cmd, _, err := rootOf(program).Find(c.path)
		must.Do(t, err)
		for line := range strings.Lines(cmd.Example) {
			call, _, _ := strings.Cut(strings.TrimSpace(line), " | ")
			checkCall(t, c.String()+" -h", call, true)
		}
	}
}

// checkCall parses a call as a shell and rmq do. One that is not whole may lack its arguments.
func checkCall(t *testing.T, where, call string, whole bool) {
	t.Helper()
	of, rest := program, strings.TrimPrefix(call, "rmq ")
	if rest == call {
		of, rest = withJournal, strings.TrimPrefix(call, "rmqd ")
		if service, _, _ := strings.Cut(rest, " "); slices.Contains([]string{"serve", "push", "token", "console"}, service) {
			return
		}
	}
	words, err := exec.Command("sh", "-c", `printf '%s\0' `+rest).Output()
	must.Do(t, err)
	cmd, args, err := rootOf(of).Find(strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00"))
	if err == nil {
		err = cmd.ParseFlags(args)
	}
	if err == nil && cmd.Args != nil && (whole || cmd.Flags().NArg() > 0) {
		err = cmd.Args(cmd, cmd.Flags().Args())
	}
	if err != nil || whole && cmd.HasSubCommands() {
		t.Errorf("%s: %s: %v", where, call, err)
	}
}
