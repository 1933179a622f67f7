package protocol_test

import (
	"bytes"
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/slots"
)

// A transcript is a message's life as a person sees it through redis-cli. docs/PROTOCOL.md leads its readers to them.

var transcriptUpdate = flag.Bool("update", false, "rewrite the transcripts")

const (
	transcriptStart = 1_767_225_600_000 // 2026-01-01 00:00:00 UTC
	transcriptLease = 30 * time.Second
)

func TestTranscript(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	cli, err := exec.LookPath("redis-cli")
	if err != nil {
		t.Fatalf("%v\n\tInstall it:  apt-get install redis-tools", err)
	}
	_, port, err := net.SplitHostPort(server.Addr())
	if err != nil {
		t.Fatal(err)
	}
	for _, play := range []struct {
		name, topic string
		priority    bool
		crash       time.Duration
		stages      func(*transcript)
	}{
		{"literal", "orders", true, 0, literalTranscript},
		{"backoff", "prices", false, time.Second, backoffTranscript},
		{"putback", "orders", true, time.Second, putBackTranscript},
		{"plan", "reports", false, time.Second, planTranscript},
	} {
		t.Run(play.name, func(t *testing.T) {
			tr := &transcript{
				T: t, cli: cli, port: port, rdb: server.Client(t),
				keys: protocol.KeysOf(play.topic, 3), priority: play.priority, crash: play.crash, numbers: map[string]int64{},
			}
			tr.clock = "clock{" + tr.keys.Store + "}"
			tr.scripts = edited(tr.rdb, func(_, source string) string { return withClock(source, tr.clock) })
			tr.rdb.FlushAll(tr.Context())
			tr.later(0)
			play.stages(tr)
			tr.fence(false)
			file, played := "testdata/transcripts/"+play.name+".txt", tr.text.String()
			if *transcriptUpdate {
				must.Do(t, os.WriteFile(file, []byte(played), 0o644))
			}
			old, err := os.ReadFile(file)
			must.Do(t, err)
			if string(old) != played {
				t.Errorf("%s is not what happens: %s\nIf the change is meant, run: go test ./internal/protocol -run Transcript -update", file, firstDifference(string(old), played))
			}
		})
	}
}

func firstDifference(documented, happened string) string {
	was, is := strings.Split(documented, "\n"), strings.Split(happened, "\n")
	for i := range max(len(was), len(is)) {
		line := func(of []string) string {
			if i < len(of) {
				return strconv.Quote(of[i])
			}
			return "the end"
		}
		if line(was) != line(is) {
			return fmt.Sprintf("line %d of the transcript\n  documented: %s\n  happened:   %s\n  and then:   %q",
				i+1, line(was), line(is), is[min(i+1, len(is)):min(i+6, len(is))])
		}
	}
	return "no difference"
}

func TestDifferenceOfTranscripts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ was, is, want string }{{"a\nb", "a\nc", "line 2"}, {"a", "a\nb", "the end"}, {"a", "a", "no difference"}} {
		if got := firstDifference(c.was, c.is); !strings.Contains(got, c.want) {
			t.Errorf("%q and %q: %s", c.was, c.is, got)
		}
	}
}

// transcript is one play: a slot under a clock of its own, and what was written down.
type transcript struct {
	*testing.T
	cli, port string
	rdb       *redis.Client
	scripts   *scripts
	keys      protocol.SlotKeys
	clock     string
	elapsed   time.Duration
	priority  bool
	crash     time.Duration
	numbers   map[string]int64 // of the slot, as each worker knows it

	text   strings.Builder
	count  int
	fenced bool
	quiet  bool // write nothing down
}

// later moves the clock.
func (tr *transcript) later(d time.Duration) {
	tr.Helper()
	tr.elapsed += d
	if err := tr.rdb.Set(tr.Context(), tr.clock, transcriptStart+tr.elapsed.Milliseconds(), 0).Err(); err != nil {
		tr.Fatal(err)
	}
}

// stage begins a new one.
func (tr *transcript) stage(title, words string) {
	tr.fence(false)
	tr.count++
	fmt.Fprintf(&tr.text, "**%d. %s** (at %.3f s). %s\n\n", tr.count, title, tr.elapsed.Seconds(), words)
}

// say explains within a stage.
func (tr *transcript) say(words string) {
	tr.fence(false)
	fmt.Fprintf(&tr.text, "%s\n\n", words)
}

func (tr *transcript) fence(open bool) {
	switch {
	case open && !tr.fenced:
		tr.text.WriteString("```\n")
	case !open && tr.fenced:
		tr.text.WriteString("```\n\n")
	}
	tr.fenced = open
}

func (tr *transcript) write(format string, args ...any) {
	if !tr.quiet {
		tr.fence(true)
		fmt.Fprintf(&tr.text, format, args...)
	}
}

var tookLong = regexp.MustCompile(`(?m)^\(\d+\.\d+s\)\n`)

// redisCLI gives redis-cli one line, as a person would type it, and returns what it prints.
func (tr *transcript) redisCLI(line string) string {
	tr.Helper()
	var out bytes.Buffer
	cmd := exec.CommandContext(tr.Context(), tr.cli, "-p", tr.port, "--no-raw")
	// A person's own settings would change what it prints.
	own := func(setting string) bool { return strings.HasPrefix(setting, "REDISCLI_") }
	cmd.Env = append(slices.DeleteFunc(os.Environ(), own), "REDISCLI_RCFILE="+os.DevNull)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(line+"\n"), &out, &out
	amiss := func(said string) bool { return strings.Contains(out.String(), said) }
	if err := cmd.Run(); err != nil || amiss("(error)") || amiss("Could not connect") || amiss("Error:") {
		tr.Fatalf("redis-cli %s: %v\n%s", line, err, &out)
	}
	// After half a second, as on a busy machine, it adds how long the command took.
	printed := strings.TrimRight(tookLong.ReplaceAllString(out.String(), ""), "\n")
	tr.write("> %s\n%s\n", line, printed)
	return printed
}

func (tr *transcript) look(lines ...string) {
	tr.Helper()
	for _, line := range lines {
		tr.redisCLI(line)
	}
}

// turn takes one turn of a worker, and another one if only the number was wrong.
func (tr *transcript) turn(worker string, count int, verdicts ...protocol.Verdict) protocol.Answer {
	tr.Helper()
	turn := &protocol.Turn{
		Keys: tr.keys, Priority: tr.priority, Merge: !tr.priority, Worker: worker, Fence: tr.numbers[worker], Lease: transcriptLease,
		Count: count, Random: 1, TakeoverDelay: tr.crash, Verdicts: verdicts,
	}
	a, err := tr.scripts.Turn(tr.Context(), turn)
	if err != nil {
		tr.Fatal(err)
	}
	wants := fmt.Sprintf("take up to %d", count)
	if count == 0 {
		wants = "leave"
	}
	tr.write("# turn of %s: number %d, %s%s\n# -> %s\n", worker, turn.Fence, wants, verdictWords(verdicts), answerWords(a))
	switch a.Code {
	case protocol.Left:
		delete(tr.numbers, worker)
	case protocol.Busy: // tells no number
	default:
		tr.numbers[worker] = a.Fence
	}
	return a
}

func verdictWords(verdicts []protocol.Verdict) string {
	var b strings.Builder
	for _, v := range verdicts {
		fmt.Fprintf(&b, "; %q ", v.Content)
		switch {
		case v.Fate == protocol.NotStarted && v.Priority > 0:
			fmt.Fprintf(&b, "was not started, priority %d", v.Priority)
		case v.Fate == protocol.NotStarted:
			b.WriteString("was not started")
		case v.Fate == protocol.PutBack:
			fmt.Fprintf(&b, "is put back for %v, priority %d: %s", v.Delay, v.Priority, v.Reason)
		case v.Delay == 0:
			fmt.Fprintf(&b, "failed: %s", v.Reason)
		default:
			fmt.Fprintf(&b, "failed, again in %v: %s", v.Delay, v.Reason)
		}
	}
	return b.String()
}

func answerWords(a protocol.Answer) string {
	switch a.Code {
	case protocol.Batch:
		words := fmt.Sprintf("BATCH %d, attempt %d: %q", a.Fence, a.Attempt, a.Contents)
		if p := a.Priority(0); p > 0 {
			words += fmt.Sprintf(", priority %d", p)
		}
		if why, told := a.Failure(); told {
			words += fmt.Sprintf(", failed before: %s", why.Reason)
		}
		return words
	case protocol.Empty:
		if a.Wait < 0 {
			return fmt.Sprintf("EMPTY %d", a.Fence)
		}
		return fmt.Sprintf("EMPTY %d, the next is due in %d ms", a.Fence, a.Wait.Milliseconds())
	case protocol.Busy:
		return fmt.Sprintf("BUSY %s, its lease ends in %d ms", a.Holder, a.Wait.Milliseconds())
	}
	return fmt.Sprintf("%s %d", a.Code, a.Fence)
}

// expect keeps a play from telling something else than its words say.
func (tr *transcript) expect(a protocol.Answer, code protocol.Code, attempt int) {
	tr.Helper()
	if a.Code != code || a.Attempt != attempt {
		tr.Fatalf("got %s, want %s, attempt %d", answerWords(a), code, attempt)
	}
}

// see looks at whole keys of the slot.
func (tr *transcript) see(keys ...string) {
	tr.Helper()
	for _, key := range keys {
		switch key {
		case "store":
			tr.redisCLI("ZRANGE " + tr.keys.Store + " 0 -1 WITHSCORES")
		case "meta":
			tr.redisCLI(`HGETALL "` + tr.keys.Meta + `"`)
		default:
			tr.redisCLI(`ZRANGE "` + key + `{` + tr.keys.Store + `}" 0 -1 WITHSCORES`)
		}
	}
}

// inSlot3 keeps the contents of the plays in the slot whose keys they show.
func (tr *transcript) inSlot3(contents ...string) {
	for _, x := range contents {
		if slots.Of(x, 16) != 3 {
			tr.Fatalf("%q belongs to slot %d of 16", x, slots.Of(x, 16))
		}
	}
}

func literalTranscript(tr *transcript) {
	const x, y = "order 4703", "order 4734"
	tr.inSlot3(x, y)
	failed := protocol.Verdict{Content: x, Priority: 900, Reason: "the shop timed out"}

	tr.stage("Sent", "A producer stores the content with its priority. It waits.")
	tr.look(`ZADD orders_3 500 "order 4703"`)
	tr.see("store")

	tr.later(time.Second)
	tr.stage("Merged", "The same content is sent again while it waits: still one message. A priority takes the last value.")
	tr.look(`ZADD orders_3 900 "order 4703"`)
	tr.see("store")

	tr.later(time.Second)
	tr.stage("Taken", "The content moves from the store to `prepare`. The score there is the second, times 1000, plus the 16 retries that are left if this delivery fails.")
	tr.expect(tr.turn("w1", 10), protocol.Batch, 1)
	tr.see("store", "prepare", "meta")

	tr.later(2 * time.Second)
	tr.stage("Failed", "Meanwhile another order came in. The worker's next turn reports the failure, and takes the other order in the same step. The failed one is back in the store with 16 retries left, below every priority. `why` knows attempts, first and last failure, priority, worker and reason. `passed` counts that one fresh order went before it.")
	tr.look(`ZADD orders_3 700 "order 4734"`)
	tr.expect(tr.turn("w1", 10, failed), protocol.Batch, 1)
	tr.see("store", "prepare")
	tr.look(`HGET "why{orders_3}" "order 4703"`)
	tr.see("meta")

	tr.later(time.Second)
	tr.stage("Taken again", "The other order was done: the turn lists nothing, and takes the retry, alone. 15 retries are left.")
	tr.expect(tr.turn("w1", 10), protocol.Batch, 2)
	tr.see("store", "prepare")

	tr.say("Deliveries 2 to 16 fail, too. (Here the worker leaves the slot after each, so that the retry can be seen in the store.) `ZSCORE orders_3 \"order 4703\"` after each of them:")
	scores := []string{}
	tr.quiet = true
	for attempt := 2; attempt <= 16; attempt++ {
		tr.later(time.Second)
		tr.expect(tr.turn("w1", 0, failed), protocol.Left, 0)
		scores = append(scores, tr.redisCLI(`ZSCORE orders_3 "order 4703"`))
		tr.expect(tr.turn("w1", 10), protocol.Number, 0)
		tr.expect(tr.turn("w1", 10), protocol.Batch, attempt+1)
	}
	tr.quiet = false
	tr.write("%s\n", strings.Join(scores, " "))

	tr.stage("The 17th delivery", "No retry is left.")
	tr.see("prepare")

	tr.later(time.Second)
	tr.stage("Dead", "It failed 17 times. Nothing delivers it any more; `why` keeps what is known.")
	tr.expect(tr.turn("w1", 10, failed), protocol.Empty, 0)
	tr.see("store", "prepare", "dead")
	tr.look(`HGET "why{orders_3}" "order 4703"`)

	tr.later(time.Second)
	tr.stage("Finished", "Another message is sent, taken and done. The second turn lists nothing, so all of the batch is done and `prepare` goes away.")
	tr.look(`ZADD orders_3 800 "order 4734"`)
	tr.expect(tr.turn("w1", 10), protocol.Batch, 1)
	tr.later(time.Second)
	tr.expect(tr.turn("w1", 10), protocol.Empty, 0)
	tr.look(`EXISTS orders_3 "prepare{orders_3}"`)
	tr.see("meta")

	tr.later(time.Second)
	tr.stage("Handed back", "The dead order is sent again: a new message with all its tries. The worker takes it, and leaves before it has begun. No attempt is spent, the priority comes back, and the number is another, so that late copies of its turns take nothing.")
	tr.look(`ZADD orders_3 600 "order 4703"`)
	tr.expect(tr.turn("w1", 10), protocol.Batch, 1)
	tr.expect(tr.turn("w1", 0, protocol.Verdict{Content: x, Fate: protocol.NotStarted, Priority: 600}), protocol.Left, 0)
	tr.see("store", "prepare", "dead", "meta")

	tr.later(time.Second)
	tr.stage("Taken over after the lease", "The worker takes it once more and is never heard of again. While its lease of 30 s lasts, nobody else gets anything.")
	tr.expect(tr.turn("w1", 10), protocol.Number, 0)
	tr.expect(tr.turn("w1", 10), protocol.Batch, 1)
	tr.later(10 * time.Second)
	tr.expect(tr.turn("w2", 10), protocol.Busy, 0)
	tr.later(20*time.Second + time.Millisecond)
	tr.say("After it, the next turn gives the batch back. It may have killed the worker, so an attempt is spent. The turn after that takes.")
	tr.expect(tr.turn("w2", 10), protocol.Number, 0)
	tr.see("store", "prepare")
	tr.look(`HGET "why{orders_3}" "order 4703"`)
	tr.expect(tr.turn("w2", 10), protocol.Batch, 2)
	tr.see("prepare", "meta")
}

func putBackTranscript(tr *transcript) {
	const x, y = "order 4703", "order 4734"
	tr.inSlot3(x, y)
	later := protocol.Verdict{Content: x, Fate: protocol.PutBack, Delay: time.Minute, Priority: 900, Reason: "the shop is closed"}

	tr.stage("Put back", "The worker takes the order. Its handler cannot do anything yet, and wants it in a minute. It waits in `retry`, with the mark 18 in the place of the retries left, and `why` keeps its priority. No attempt is spent.")
	tr.look(`ZADD orders_3 900 "order 4703"`)
	tr.expect(tr.turn("w1", 10), protocol.Batch, 1)
	tr.expect(tr.turn("w1", 10, later), protocol.Empty, 0)
	tr.see("store", "prepare", "retry")
	tr.look(`HGET "why{orders_3}" "order 4703"`)
	tr.see("meta")

	tr.later(time.Minute)
	tr.stage("In its place again", "A minute later it stands in the store again, before the turn chooses. It is delivered as attempt 1, with its priority, and the order with a lower one waits.")
	tr.look(`ZADD orders_3 500 "order 4734"`)
	tr.expect(tr.turn("w1", 1), protocol.Batch, 1)
	tr.see("store", "prepare", "retry")

	tr.later(time.Second)
	tr.stage("Put back again", "The handler may put it back as often as it wants. `why` knows the first and the last time.")
	tr.expect(tr.turn("w1", 10, later), protocol.Batch, 1)
	tr.see("prepare", "retry")
	tr.look(`HGET "why{orders_3}" "order 4703"`)

	tr.later(time.Minute)
	tr.stage("Done", "Now it can be handled. When it is done, nothing is left of it.")
	tr.expect(tr.turn("w1", 10), protocol.Batch, 1)
	tr.expect(tr.turn("w1", 10), protocol.Empty, 0)
	tr.look(`EXISTS orders_3 "prepare{orders_3}" "retry{orders_3}" "why{orders_3}"`)
}

func backoffTranscript(tr *transcript) {
	const x, y = "price of 4715", "price of 4722"
	tr.inSlot3(x, y)
	failed := protocol.Verdict{Content: x, Delay: time.Second, Reason: "the image server is away"}
	due := func(in time.Duration) int64 { return transcriptStart + (tr.elapsed + in).Milliseconds() }

	tr.stage("Sent", "The price may be handled in a minute. The score is that time in ms.")
	tr.look(fmt.Sprintf(`ZADD prices_3 NX %d %q`, due(time.Minute), x))
	tr.see("store")

	tr.later(20 * time.Second)
	tr.stage("Merged", "The same content is sent again while it waits: the first time stays. A turn finds nothing that is due.")
	tr.look(fmt.Sprintf(`ZADD prices_3 NX %d %q`, due(time.Minute), x))
	tr.see("store")
	tr.expect(tr.turn("w1", 10), protocol.Empty, 0)

	tr.later(40*time.Second + 250*time.Millisecond)
	tr.stage("Taken", "`prepare` holds the one batch of the slot that is in flight.")
	tr.expect(tr.turn("w1", 10), protocol.Batch, 1)
	tr.see("store", "prepare", "meta")

	tr.later(2 * time.Second)
	tr.stage("Failed, waiting for its retry", "The worker's next turn reports it. The score in `retry` is the time of the next delivery in ms, times 100, plus the 16 retries left.")
	tr.expect(tr.turn("w1", 10, failed), protocol.Empty, 0)
	tr.see("store", "prepare", "retry")
	tr.look(`HGET "why{prices_3}" "price of 4715"`)
	tr.see("meta")

	tr.later(time.Second)
	tr.stage("Taken again", "A retry is a batch of its own. 15 retries are left.")
	tr.expect(tr.turn("w1", 10), protocol.Batch, 2)
	tr.see("prepare", "retry")

	tr.say("Deliveries 2 to 16 fail, too. The last two digits of `ZSCORE \"retry{prices_3}\" \"price of 4715\"` after each of them:")
	scores := []string{}
	tr.quiet = true
	for attempt := 2; attempt <= 16; attempt++ {
		tr.later(time.Second)
		tr.expect(tr.turn("w1", 10, failed), protocol.Empty, 0)
		score := strings.Trim(tr.redisCLI(`ZSCORE "retry{prices_3}" "price of 4715"`), `"`)
		scores = append(scores, score[len(score)-2:])
		tr.later(time.Second)
		tr.expect(tr.turn("w1", 10), protocol.Batch, attempt+1)
	}
	tr.quiet = false
	tr.write("%s\n", strings.Join(scores, " "))

	tr.stage("The 17th delivery", "No retry is left.")
	tr.see("prepare")

	tr.later(time.Second)
	tr.stage("Dead", "It failed 17 times. Nothing delivers it any more; `why` keeps what is known.")
	tr.expect(tr.turn("w1", 10, failed), protocol.Empty, 0)
	tr.see("store", "prepare", "retry", "dead")
	tr.look(`HGET "why{prices_3}" "price of 4715"`)

	tr.later(time.Second)
	tr.stage("Finished", "Another content fails once, and its retry succeeds. A turn that lists nothing finishes the batch: `prepare` goes away, and so does the entry of `why`. The one of the dead content stays.")
	failed.Content = y
	tr.look(fmt.Sprintf(`ZADD prices_3 NX %d %q`, due(0), y))
	tr.expect(tr.turn("w1", 10), protocol.Batch, 1)
	tr.expect(tr.turn("w1", 10, failed), protocol.Empty, 0)
	tr.look(`HKEYS "why{prices_3}"`)
	tr.later(time.Second)
	tr.expect(tr.turn("w1", 10), protocol.Batch, 2)
	tr.expect(tr.turn("w1", 10), protocol.Empty, 0)
	tr.look(`EXISTS prices_3 "prepare{prices_3}" "retry{prices_3}"`, `HKEYS "why{prices_3}"`)
	tr.see("meta")

	tr.later(time.Second)
	tr.stage("Handed back", "The worker takes a content and leaves the slot before it has begun. No attempt is spent. The content is due since the second in which it was taken.")
	tr.look(fmt.Sprintf(`ZADD prices_3 NX %d %q`, due(0), y))
	tr.expect(tr.turn("w1", 10), protocol.Batch, 1)
	tr.later(time.Second)
	tr.expect(tr.turn("w1", 0, protocol.Verdict{Content: y, Fate: protocol.NotStarted}), protocol.Left, 0)
	tr.see("store", "prepare", "meta")

	tr.later(time.Second)
	tr.stage("Taken over after the lease", "The worker takes it once more and is never heard of again. While its lease of 30 s lasts, nobody else gets anything.")
	tr.expect(tr.turn("w1", 10), protocol.Number, 0)
	tr.expect(tr.turn("w1", 10), protocol.Batch, 1)
	tr.later(10 * time.Second)
	tr.expect(tr.turn("w2", 10), protocol.Busy, 0)
	tr.later(20*time.Second + time.Millisecond)
	tr.say("After it, the next turn gives the batch back. It may have killed the worker, so an attempt is spent, and the retry waits for the delay that the turn names, here 1 s.")
	tr.expect(tr.turn("w2", 10), protocol.Number, 0)
	tr.see("prepare", "retry")
	tr.look(`HGET "why{prices_3}" "price of 4722"`)
	tr.later(time.Second)
	tr.expect(tr.turn("w2", 10), protocol.Batch, 2)
	tr.see("prepare", "meta")
}

func planTranscript(tr *transcript) {
	const name, x, rule = "hourly", "report of shop 28", `{"content":"report of shop 28","cron":"0 * * * *","zone":"UTC"}`
	tr.inSlot3(x)
	keys := protocol.KeysOf("reports", 3).Plans(false)
	hour := func(n int64) int64 { return transcriptStart + n*time.Hour.Milliseconds() }
	set := func(since int64) {
		answer, err := tr.scripts.SetPlan(tr.Context(), keys, name, rule, strconv.FormatInt(since, 10), hour(1), protocol.PlanStand{})
		if err != nil {
			tr.Fatal(err)
		}
		tr.write("# plan.lua: set %q, first at %d\n# -> %s\n", name, hour(1), answer)
	}
	var due protocol.Occurrence
	fire := func(next int64) {
		answer, err := tr.scripts.FirePlan(tr.Context(), keys, due, next, x, due.At.UnixMilli())
		if err != nil {
			tr.Fatal(err)
		}
		tr.write("# plan.lua: send the one of %d, the next is at %d\n# -> %s\n", due.At.UnixMilli(), next, answer)
	}
	ask := func() {
		d, err := tr.scripts.DuePlans(tr.Context(), keys, 1)
		if err != nil || len(d.List) != 1 {
			tr.Fatalf("%+v, %v", d, err)
		}
		due = d.List[0]
		tr.write("# plan.lua: what is due?\n# -> %q, at %d\n", due.Name, due.At.UnixMilli())
	}

	tr.stage("Set", "A program declares at its start that a report is to be written each hour. The slot is noted before, so that its worker looks for plans there. The rule is stored with the moment from which it counts.")
	tr.look("SADD rmq:plans{reports} 3")
	set(hour(0))
	tr.look(`ZRANGE "plan{reports_3}" 0 -1 WITHSCORES`, `HGETALL "rule{reports_3}"`)

	tr.later(10 * time.Second)
	tr.stage("Set again", "Another instance of the program starts. The rule is the same, so its plan stays as it is.")
	set(hour(0) + 10_000)

	tr.later(time.Hour - 10*time.Second)
	tr.stage("Sent", "The worker that has the slot sends the first one, and moves the plan on, in one step.")
	ask()
	fire(hour(2))
	tr.see("store", "plan")
	tr.say("If the answer gets lost, it tries again. So does another worker that believes to have the slot. Neither sends it twice.")
	fire(hour(2))

	tr.later(time.Hour)
	tr.stage("One waits already", "No worker has taken it for an hour. The second one merges into it, and the plan moves on.")
	ask()
	fire(hour(3))
	tr.see("store", "plan")
}
