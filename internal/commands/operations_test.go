package commands

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/humantime"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/transcript"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/rmq"
)

// docs/OPERATIONS.md shows a night with a poison message. The test plays it,
// so the document shows exactly what the commands print.

var operationsUpdate = flag.Bool("update", false, "rewrite the transcript in docs/OPERATIONS.md")

const operationsFile = "../../docs/OPERATIONS.md"

// night is when the transcript says that it was played.
var night = time.Date(2026, 1, 31, 3, 7, 0, 0, time.UTC)

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
	rdb    *redis.Client
	url    string
	worker string // its id
	mended atomic.Bool
	zero   time.Time // of the server, that is shown as night
	text   strings.Builder
}

func (p *play) run() {
	orders := rmq.Topic{Name: "orders", Kind: rmq.KindPriority, Slots: 16}
	prices := rmq.Topic{Name: "prices", Kind: rmq.KindRangeMerge, Slots: 16}
	client, err := rmq.New(rmq.Config{Redis: p.rdb, Worker: "app7", Backoff: rmq.Schedule(time.Millisecond)})
	must(p, err)
	must(p, client.Listen(orders, rmq.ListenerFunc(p.handle), rmq.ListenOptions{}))
	must(p, client.Listen(prices, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return nil }), rmq.ListenOptions{}))
	must(p, client.Start(ctx))
	defer func() {
		within, cancel := context.WithTimeout(ctx, testPatience)
		defer cancel()
		must(p, client.Close(within))
	}()
	for i := range 7 {
		_, err := client.Send(ctx, prices, rmq.RangeMerge{Content: fmt.Sprint("price of ", 4700+i), Range: 10 * time.Hour})
		must(p, err)
	}
	const others = 311
	batch := []rmq.Message{rmq.Priority{Content: poison, SlotBasis: "customer 12", Priority: 900}}
	for i := range others {
		batch = append(batch, rmq.Priority{Content: fmt.Sprintf("order %d, 1.00 XI", 5000+i), SlotBasis: fmt.Sprint("customer ", i), Priority: 500})
	}
	_, err = client.SendBatch(ctx, orders, batch)
	must(p, err)
	p.await("dead", func() bool { return len(members(p, p.rdb, orders, inDead)) == others+1 })
	workers, err := p.rdb.ZRange(ctx, "rmq:workers{orders}", 0, -1).Result()
	must(p, err)
	p.worker = workers[0]

	p.say("A customer calls: order 4711 has not been shipped. Is anything wrong?")
	p.rmq("", "stats")
	p.say("312 dead orders. Which are they, and why?")
	p.rmq("", "dead", "list", "orders", "--limit", "5")
	p.rmq("", "dead", "list", "orders", "--content", "order 4711*")
	p.say("Where is the order of this customer, and what is known of it?")
	p.rmq("", "explain", "orders", poison)
	p.rmq("", "dead", "show", "orders", poison)
	p.say("It was tried 17 times, and each time its amount could not be read: a poison message. It does not block the others any " +
		"more. You repair the handler and deploy it: it now reads a comma in an amount, and knows the tax code XI, for which " +
		"the other orders died.")
	p.mended.Store(true)
	p.say("First this one alone, to see whether the handler is right now.")
	p.rmq("", "dead", "requeue", "orders", poison)
	p.await("handled", func() bool { return len(members(p, p.rdb, orders, inStore)) == 0 && p.idle() })
	p.rmq("", "explain", "orders", poison)
	p.say("Handled. Now the others, slowly, so that the shop can keep up. How many are they?")
	p.rmq("", "dead", "requeue", "orders", "--reason", "tax code", "--rate", "100/s", "--dry-run")
	p.rmq("y\n", "dead", "requeue", "orders", "--reason", "tax code", "--rate", "100/s")
	p.await("handled", func() bool { return len(members(p, p.rdb, orders, inDead)) == 0 && p.idle() })
	p.say("No message is dead or late, and the stored data is sound.")
	p.rmq("", "stats")
	p.rmq("", "verify")
}

const poison = "order 4711, 12,50 EUR"

// handle is the handler, which knows too little until it is mended.
func (p *play) handle(_ context.Context, d *rmq.Delivery) error {
	switch {
	case p.mended.Load():
		return nil
	case d.Content == poison:
		_, err := strconv.ParseFloat("12,50", 64)
		return fmt.Errorf("read the amount: %w", err)
	}
	return rmq.Dead(errors.New("no such tax code: XI"))
}

// idle is whether nothing is in flight or waits.
func (p *play) idle() bool {
	for slot := range 16 {
		k := luascripts.KeysOf("orders", slot)
		if p.rdb.Exists(ctx, k.Store, k.Prepare, k.Retry).Val() > 0 {
			return false
		}
	}
	return true
}

func (p *play) await(what string, holds func() bool) {
	p.Helper()
	eventually(p, what, holds)
}

// age makes the dead older, which died just now: the one of the caller, and then one of the
// others each minute. Half a minute is left until a table would show another time.
func (p *play) age() {
	p.Helper()
	now, err := p.rdb.Time(ctx).Result()
	must(p, err)
	p.zero = now.Truncate(time.Millisecond)
	for slot := range 16 {
		k := luascripts.KeysOf("orders", slot)
		for _, content := range p.rdb.ZRange(ctx, k.Dead, 0, -1).Val() {
			ago := 6*time.Hour + 45*time.Minute + 30*time.Second
			var n int
			if _, err := fmt.Sscanf(content, "order %d, 1.00", &n); err == nil {
				ago = 62*time.Minute + 30*time.Second + time.Duration(5310-n)*time.Minute
			}
			died := p.zero.Add(-ago)
			first := died.Add(-6*time.Minute - 12345*time.Millisecond)
			entry := strings.SplitN(p.rdb.HGet(ctx, k.Why, content).Val(), " ", 4) // attempts first last, and the rest
			if entry[0] == "1" {
				first = died
			}
			must(p, p.rdb.ZAdd(ctx, k.Dead, redis.Z{Score: float64(died.UnixMilli()), Member: content}).Err())
			must(p, p.rdb.HSet(ctx, k.Why, content, fmt.Sprintf("%s %d %d %s", entry[0], first.UnixMilli(), died.UnixMilli(), entry[3])).Err())
		}
	}
}

// say explains.
func (p *play) say(words string) {
	fmt.Fprintf(&p.text, "%s\n\n", strings.Join(wrap(words, 120), "\n"))
}

// rmq is a call, as a terminal shows it, with the answer that was typed.
func (p *play) rmq(answer string, args ...string) {
	p.Helper()
	p.age()
	var shown bytes.Buffer
	a := newApp(program, strings.NewReader(answer), &shown, &shown)
	a.status.terminal = true
	root := a.root()
	root.SetArgs(append([]string{"--redis", p.url}, args...))
	a.finish(root.ExecuteContext(ctx))

	line := "rmq"
	for _, arg := range args {
		line += " " + quoted(arg)
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
	out = strings.ReplaceAll(out, p.worker, "app7-c9a21165")
	return anyMoment.ReplaceAllStringFunc(out, func(text string) string {
		t, err := humantime.ParseInstant(text)
		must(p, err)
		return t.Add(night.Sub(p.zero)).UTC().Format("2006-01-02 15:04:05.000")
	})
}

// Each call of rmq in a document can be made: there is such a command, and it has such flags. The services of rmqd are
// looked at by its own tests.
func TestDocumentedCommands(t *testing.T) {
	t.Parallel()
	calls := regexp.MustCompile("(?m)^(?:\\$ )?(rmqd? .*?)(?: +# .*| \\||$)")
	inText := regexp.MustCompile("`(rmqd [^`]*)`")
	for _, file := range []string{operationsFile, "../../README.md", "../../docs/DEPLOYMENT.md", "../../docs/JOURNAL.md"} {
		document, err := os.ReadFile(file)
		must(t, err)
		for n, block := range strings.Split(string(document), "```") {
			if n%2 == 0 {
				for _, call := range inText.FindAllStringSubmatch(block, -1) {
					checkCall(t, file, strings.ReplaceAll(call[1], "\n", " "))
				}
				continue
			}
			for _, call := range calls.FindAllStringSubmatch(block, -1) {
				checkCall(t, file, call[1])
			}
		}
	}
	for _, c := range connecting() {
		cmd, _, err := newApp(program, nil, nil, nil).root().Find(c.path)
		must(t, err)
		for line := range strings.Lines(cmd.Example) {
			call, _, _ := strings.Cut(strings.TrimSpace(line), " | ")
			checkCall(t, c.String()+" -h", call)
		}
	}
}

// checkCall parses a call as a shell and rmq do.
func checkCall(t *testing.T, where, call string) {
	t.Helper()
	of, rest := program, strings.TrimPrefix(call, "rmq ")
	if rest == call {
		of, rest = withJournal, strings.TrimPrefix(call, "rmqd ")
		if service, _, _ := strings.Cut(rest, " "); slices.Contains([]string{"serve", "push", "token"}, service) {
			return
		}
	}
	words, err := exec.Command("sh", "-c", `printf '%s\0' `+rest).Output()
	must(t, err)
	cmd, args, err := newApp(of, strings.NewReader(""), nil, nil).root().Find(strings.Split(strings.TrimSuffix(string(words), "\x00"), "\x00"))
	if err == nil {
		err = cmd.ParseFlags(args)
	}
	if err == nil && cmd.Args != nil {
		err = cmd.Args(cmd, cmd.Flags().Args())
	}
	if err != nil || cmd.HasSubCommands() {
		t.Errorf("%s: %s: %v", where, call, err)
	}
}
