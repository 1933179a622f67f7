package commands

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/text/columns"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

// field is the same field of all objects.
func field(objects []map[string]any, name string) []any {
	all := make([]any, len(objects))
	for i, o := range objects {
		all[i] = o[name]
	}
	return all
}

// want compares values of JSON, by how they print.
func want(t testing.TB, got any, want string) {
	t.Helper()
	if text := fmt.Sprint(got); text != want {
		t.Errorf("got %s, want %s", text, want)
	}
}

// All commands that look, while a worker works.
func TestLooking(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		wantText(t, s.text(t, "topics"), "no topics yet: nothing was sent, and no worker has started (or is a --namespace\nmissing?)")
		wantText(t, s.text(t, "stats"), "no topics yet: nothing was sent, and no worker has started (or is a --namespace\nmissing?)")
		wantText(t, s.text(t, "workers"), "no workers")
		for _, command := range []string{"topics", "stats", "workers"} {
			want(t, s.text(t, command, "--json"), "")
		}
		worker := stage(t, s.rdb)
		lookAtTopics(t, s)
		lookAtStats(t, s)
		lookAtSlots(t, s, worker)
		lookAtEntries(t, s)
		lookForContents(t, s, worker)
		lookForTrouble(t, s)
	})
}

func lookAtTopics(t *testing.T, s at) {
	wantText(t, s.text(t, "topics"), `
	TOPIC  KIND  SLOTS  SHARED BY  CREATED
	audience  priority  1  no worker yet  TIME
	orders  range-merge  4  redis  TIME`)
	objects := s.objects(t, "topics")
	want(t, field(objects, "topic"), "[audience orders]")
	want(t, field(objects, "kind"), "[priority range-merge]")
	want(t, field(objects, "slots"), "[1 4]")
	want(t, field(objects, "sharing"), "[<nil> redis]")
	wantText(t, s.text(t, "topics", "--namespace", "shop"),
		"no topics in namespace shop yet: nothing was sent there, and no worker has\nstarted")
	want(t, s.call(t, "__complete", "peek", "or").out, "orders\n:4\n") // what the shells ask for
}

func lookAtStats(t *testing.T, s at) {
	wantText(t, s.text(t, "stats"), `
	TOPIC  WAITING  DUE  OVERDUE  FLIGHT  RETRY  DEAD  WORKERS
	audience  2  2  -  0  0  0  0
	orders  2  0  -  1  1  1  1

	no worker: audience; does a program listen to it, in this namespace?`)
	wantText(t, s.text(t, "stats", "orders"), `
	TOPIC  WAITING  DUE  OVERDUE  FLIGHT  RETRY  DEAD  WORKERS
	orders  2  0  -  1  1  1  1`)
	wantText(t, s.text(t, "stats", "orders", "--slots"), `
	TOPIC  SLOT  WAITING  DUE  OVERDUE  FLIGHT  RETRY  DEAD  NEXT
	orders  0  1  0  -  0  0  0  in SPAN
	orders  1  0  0  -  0  1  0  in SPAN
	orders  3  1  0  -  0  0  1  in SPAN
	orders  2  0  0  -  1  0  0`)
	wantText(t, s.text(t, "stats", "audience", "--slots"), `
	TOPIC  SLOT  WAITING  DUE  OVERDUE  FLIGHT  RETRY  DEAD  NEXT
	audience  0  2  2  -  0  0  0  priority 90`)
	objects := s.objects(t, "stats")
	for name, values := range map[string]string{
		"topic": "[audience orders]", "waiting": "[2 2]", "due": "[2 0]", "overdue_ms": "[0 0]", "in_flight": "[0 1]",
		"retrying": "[0 1]", "dead": "[0 1]", "paused_slots": "[0 0]", "workers": "[0 1]",
	} {
		want(t, field(objects, name), values)
	}
	objects = s.objects(t, "stats", "--slots")
	want(t, field(objects, "slot"), "[0 0 1 2 3]")
	want(t, field(objects, "dead"), "[0 0 0 0 1]")
	want(t, field(objects, "priority"), "[90 <nil> <nil> <nil> <nil>]")
}

func lookAtSlots(t *testing.T, s at, worker string) {
	wantText(t, s.text(t, "slots", "orders"), `
	SLOT  WORKER  FLIGHT  SINCE  ATTEMPT  STATE  HELD BY
	0  WORKER  0
	1  WORKER  0
	2  WORKER  1  SPAN ago  1  WORKER
	3  WORKER  0`, worker)
	wantText(t, s.text(t, "slots", "audience"), `
	SLOT  WORKER  FLIGHT  SINCE  ATTEMPT  STATE  HELD BY
	0  none  0`)
	objects := s.objects(t, "slots", "orders")
	want(t, field(objects, "holder"), "[<nil> <nil> "+worker+" <nil>]")
	want(t, field(objects, "worker"), strings.TrimSuffix("["+strings.Repeat(worker+" ", 4), " ")+"]")
	wantText(t, s.text(t, "workers"), `
	WORKER  TOPIC  SLOTS  WHICH  STATE
	WORKER  orders  4  0-3`, worker)
	objects = s.objects(t, "workers")
	want(t, field(objects, "worker"), "["+worker+"]")
	want(t, field(objects, "assigned"), "[map[orders:[0 1 2 3]]]")
}

func lookAtEntries(t *testing.T, s at) {
	wantText(t, s.text(t, "peek", "orders"), `
	SLOT  WHEN  ATTEMPT  CONTENT
	0  due in SPAN  1  sleepy
	3  due in SPAN  1  "a\x00b\r\n\xff\xfe {3} \"q\" \x1b[31m'é\u202e"`)
	wantText(t, s.text(t, "peek", "orders", "--slot", "0"), `
	SLOT  WHEN  ATTEMPT  CONTENT
	0  due in SPAN  1  sleepy`)
	wantText(t, s.text(t, "peek", "orders", "--slot", "1,2"), `nothing in orders is waiting`)
	wantText(t, s.text(t, "peek", "orders", "--state", "retrying"), `
	SLOT  WHEN  ATTEMPT  CONTENT
	1  due in SPAN  2  flaky`)
	wantText(t, s.text(t, "peek", "orders", "--state", "in-flight"), `
	SLOT  WHEN  ATTEMPT  CONTENT
	2  in flight  1  busy`)
	wantText(t, s.text(t, "peek", "orders", "--state", "dead"), `
	SLOT  WHEN  ATTEMPT  CONTENT
	3  died SPAN ago  hopeless`)
	wantText(t, s.text(t, "peek", "audience", "--limit", "1"), `
	SLOT  WHEN  ATTEMPT  CONTENT
	0  priority 90  1  90
	and more; --limit shows more`)
	want(t, field(s.objects(t, "peek", "orders", "--content", "slee*"), "content"), "[sleepy]")
	want(t, field(s.objects(t, "peek", "audience", "--content", "?0", "--limit", "1"), "content"), "[90]")
	wantText(t, s.text(t, "peek", "audience", "--content", "?0", "--limit", "1"), `
		SLOT  WHEN  ATTEMPT  CONTENT
		0  priority 90  1  90
		and more; --limit shows more`)
	wantText(t, s.text(t, "peek", "orders", "--content", "slee"), `nothing in orders is waiting with a content like slee`)
	s.refused(t, 2, "--content", "peek", "orders", "--content", "[a")
	objects := s.objects(t, "peek", "orders")
	want(t, field(objects, "content"), "[sleepy <nil>]")
	want(t, field(objects, "content_base64"), "[<nil> "+base64.StdEncoding.EncodeToString([]byte(binary))+"]")
	want(t, field(objects, "state"), "[waiting waiting]")
	want(t, field(s.objects(t, "peek", "orders", "--base64"), "content"), "[<nil> <nil>]")
	want(t, field(s.objects(t, "peek", "audience"), "priority"), "[90 20]")
}

func lookForContents(t *testing.T, s at, worker string) {
	for content, text := range map[string]string{
		"sleepy": `sleepy in slot 0 of orders
			waiting  due in SPAN (TIME), none goes before it
			waits for  its time, in SPAN`,
		"flaky": `flaky in slot 1 of orders
			retrying  attempt 2 of 17, due in SPAN (TIME)
			last error  "the shop\ntimed out" (attempt 1, SPAN ago, by WORKER)
			waits for  its retry, in SPAN`,
		"busy": `busy in slot 2 of orders
			in flight  attempt 1 of 17, taken SPAN ago by WORKER, in a batch of 1, lease ends in SPAN`,
		"hopeless": `hopeless in slot 3 of orders
			dead  died SPAN ago (TIME); rmq dead requeue has it delivered again
			last error  no such shop (attempt 1, SPAN ago, by WORKER)
			waits for  you to requeue or delete it`,
	} {
		// Lines are broken where the page ends, so where depends on the times.
		flat := strings.Join(strings.Fields(s.text(t, "explain", "orders", content)), " ")
		wantText(t, flat, strings.Join(strings.Fields(text), " "), worker)
	}
	wantText(t, s.text(t, "explain", "audience", "20"), `20 in slot 0 of audience
	  waiting  with priority 20, 1 goes before it
	  waits for  1 message before it in slot 0
	  and  a worker: none listens to this topic`)
	encoded := base64.StdEncoding.EncodeToString([]byte(binary))
	if out := s.text(t, "explain", "orders", "--base64", encoded); !strings.HasPrefix(out, encoded+" in slot 3 of orders\n") {
		t.Error(out)
	}
	if out := s.text(t, "explain", "orders", binary, "--basis", basisOf[3]); !strings.HasPrefix(out, words.Legible(binary)+" in slot 3 of orders\n") {
		t.Error(out)
	}
	objects := s.objects(t, "explain", "orders", "flaky")
	want(t, field(objects, "slot"), "[1]")
	failure := objects[0]["failure"].(map[string]any)
	want(t, failure["reason"], "the shop\ntimed out")
	want(t, failure["worker"], worker)
	want(t, objects[0]["retrying"].(map[string]any)["attempt"], "2")
	want(t, s.objects(t, "explain", "orders", "busy")[0]["in_flight"].(map[string]any)["worker"], worker)
	want(t, len(s.objects(t, "explain", "orders", "hopeless")[0]["waits_for"].([]any)), "1")

	for _, c := range []struct{ args, says string }{
		{"explain orders never", "never is not here: never sent, handled already, or sent with another content; looked in all 4 slots of orders"},
		{"explain audience never --json", "looked in the one slot of audience"},
		{"explain orders sleepy --basis 2", "looked in the slot of basis 2 of orders"},
	} {
		r := s.call(t, strings.Fields(c.args)...)
		if r.code != 1 || r.out != "" || !strings.HasPrefix(r.errs, "rmq: ") || !strings.Contains(r.errs, c.says) {
			t.Errorf("%s: %+v", c.args, r)
		}
	}
}

func lookForTrouble(t *testing.T, s at) {
	for line := range strings.Lines(s.text(t, "doctor")) {
		if level, _, _ := strings.Cut(line, " "); !slices.Contains([]string{"ok", "warn", ""}, level) {
			t.Errorf("%q", line)
		}
	}
	objects := s.objects(t, "doctor")
	if len(objects) < 5 {
		t.Errorf("only %v", objects)
	}
	for _, o := range objects {
		if o["check"] == "" || o["detail"] == "" || (o["level"] != "ok") != (o["advice"] != nil) {
			t.Errorf("%v", o)
		}
	}
}

// Doctor fails, and says what to do.
func TestDoctorFails(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t, "--maxmemory-policy", "allkeys-lru")
	s := at{server.Client(t), "redis://" + server.Addr()}
	for _, args := range [][]string{{"doctor"}, {"doctor", "--json"}} {
		r := s.call(t, args...)
		if r.code != 1 || !strings.Contains(r.out, "maxmemory-policy noeviction") || !strings.Contains(r.out, "fail") ||
			!strings.Contains(r.errs, "failed") || strings.Count(r.errs, "\n") != 1 {
			t.Errorf("%q: %+v", args, r)
		}
	}
}

// Of equal priorities it is not known which goes first.
func TestHowManyGoBefore(t *testing.T) {
	t.Parallel()
	s := servertest.Redis(t)
	audience := message.Topic{Name: "audience", Kind: message.KindPriority, Slots: 1}
	send(t, s.Client(t), audience, message.Priority{Content: "a", Priority: 90}, message.Priority{Content: "b", Priority: 90}, message.Priority{Content: "c", Priority: 20})
	for content, says := range map[string]string{"a": "0 1", "b": "0 1", "c": "2 0"} {
		o := at{nil, "redis://" + s.Addr()}.objects(t, "explain", "audience", content)[0]
		want(t, fmt.Sprint(o["before"], " ", o["same_priority"]), says)
	}
}

// Whatever is in the contents and names, the page is 80 columns wide, and --wide shows all.
func TestPageHolds(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		long := strings.TrimSpace(strings.Repeat("long and broad 日本 ", 8_000))
		name := strings.Repeat("n", limits.NameBytes)
		topic := message.Topic{Name: name, Kind: message.KindPriority, Slots: 64}
		send(t, s.rdb, topic,
			message.Priority{Content: long, Priority: 1<<53 - 1}, message.Priority{Content: binary + long, Priority: 17})
		for _, args := range [][]string{
			{"topics"}, {"stats"}, {"stats", name}, {"stats", name, "--slots"}, {"slots", name}, {"workers"}, {"peek", name},
			{"explain", name, long}, {"explain", name, binary + long}, {"explain", name, long + " ", "--json"}, {"doctor"},
		} {
			s.call(t, args...) // which looks at the width
		}
		if out := s.text(t, "peek", name, "--wide"); !strings.Contains(out, long) {
			t.Errorf("%.200s", out)
		}
		want(t, field(s.objects(t, "peek", name), "content"), fmt.Sprint([]any{long, nil}))
	})
}

// The help is a page, too, and every command has an example and says what it does.
func TestHelp(t *testing.T) {
	t.Parallel()
	for _, c := range connecting() {
		r := call(append(slices.Clone(c.path), "-h")...)
		fitsHelp(t, r)
		if !strings.Contains(r.out, "\nExamples:\n  rmq "+c.path[0]) {
			t.Errorf("%s has no example:\n%s", c, r.out)
		}
		if again := call(append([]string{"help"}, c.path...)...); again != r {
			t.Errorf("%s: help is another one:\n%s", c, again.out)
		}
	}
	r := call("-h")
	fitsHelp(t, r)
	if alone := call(); alone != r {
		t.Errorf("without a command:\n%s", alone.out)
	}
}

func fitsHelp(t *testing.T, r result) {
	t.Helper()
	if r.code != 0 || r.errs != "" {
		t.Errorf("%+v", r)
	}
	for line := range strings.Lines(r.out) {
		if columns.Of(strings.TrimSuffix(line, "\n")) > 80 {
			t.Errorf("%d columns: %s", columns.Of(line)-1, line)
		}
	}
}

func TestCompletionScripts(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if r := call("completion", shell); r.code != 0 || !strings.Contains(r.out, "rmq") {
			t.Errorf("%s: %d %q %.100q", shell, r.code, r.errs, r.out)
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if r := call("--version"); r.code != 0 || !strings.HasPrefix(r.out, "rmq ") || strings.Count(r.out, "\n") != 1 {
		t.Errorf("%+v", r)
	}
}

// A write that fails is a failure: who redirects into a full disk must know.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	var errs strings.Builder
	if code := program.Run(ctx, []string{"--version"}, strings.NewReader(""), full{}, &errs); code != 1 || errs.String() != "rmq: write the output: disk full\n" {
		t.Errorf("%d %q", code, errs.String())
	}
}

type full struct{}

func (full) Write([]byte) (int, error) { return 0, fmt.Errorf("disk full") }
