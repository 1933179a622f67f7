package webtest

import (
	"fmt"
	"net"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/nighttest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
	"github.com/slotmq/go-rmq/server/console"
)

// docs/CONSOLE.md tells the night of docs/OPERATIONS.md once more, by the console. The test walks it as a person would who begins
// at the first page and knows no address: by what is read, clicked and typed.
func TestNight(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]browser.View{"with JavaScript": {}, "without JavaScript, on a phone, in the dark": {NoScript: true, Width: 390, Dark: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rdb := wellKept(t)
			w := &walker{t: t, stage: nighttest.Begin(t, rdb), Page: browser.Open(t, v)}
			w.stage.Age(t)
			c, err := console.New(console.Config{Redis: rdb, Act: true})
			must.Do(t, err)
			srv := httptest.NewServer(c)
			t.Cleanup(func() { c.Close(); srv.Close() })
			w.Open(srv.URL)
			w.night()
			w.Fine()
		})
	}
}

// wellKept is a Redis of which a doctor has nothing to say: it keeps what it is given, and has a replica.
func wellKept(t *testing.T) redis.UniversalClient {
	t.Helper()
	server := servertest.Redis(t, "--appendonly", "yes", "--maxmemory", "1gb", "--repl-diskless-sync-delay", "0")
	host, port, err := net.SplitHostPort(server.Addr())
	must.Do(t, err)
	servertest.Redis(t, "--replicaof", host+" "+port)
	rdb := server.Client(t)
	await.True(t, "the replica is in sync", func() bool { return strings.Contains(rdb.Info(ctx, "replication").Val(), "state=online") })
	return rdb
}

// walker is who has been called at night.
type walker struct {
	*browser.Page
	t     *testing.T
	stage *nighttest.Night
}

// reads is what the person sees in a part of the page.
func (w *walker) reads(where string, texts ...string) {
	w.t.Helper()
	for _, text := range texts {
		w.WaitFor(where, text)
	}
}

// follows clicks on a link or a button by what it says.
func (w *walker) follows(text string) {
	w.t.Helper()
	w.Follow(w.named("a, button", text))
}

// fills types into a field by its label.
func (w *walker) fills(label, text string) {
	w.t.Helper()
	w.Fill(w.named("label", label)+" + input", text)
}

// named is a selector of the one element that shows and begins so.
func (w *walker) named(of, text string) string {
	w.t.Helper()
	w.WaitFor(of, text)
	const paths = `[...document.querySelectorAll(%q)].filter(e => e.checkVisibility() && e.innerText.trim().startsWith(%q)).map(e => {
	const path = []
	for (; e.parentElement; e = e.parentElement) path.unshift(e.localName + ':nth-child(' + ([...e.parentElement.children].indexOf(e) + 1) + ')')
	return path.join(' > ')
})`
	found := browser.Value[[]string](w.Page, fmt.Sprintf(paths, of, text))
	if len(found) != 1 {
		w.t.Fatalf("%d elements say %q, so a person does not know which one is meant", len(found), text)
	}
	return found[0]
}

func (w *walker) night() {
	w.isAnythingWrong()
	w.whyAreTheyDead()
	w.whereIsTheOrder()
	w.stage.Deploy(w.t)
	w.thisOneFirst()
	w.thenTheOthers()
	w.allIsWell()
}

func (w *walker) isAnythingWrong() {
	w.t.Helper()
	w.reads("h1", "Is anything wrong?")
	w.reads(".needs li", "Now", "orders", "312 dead messages")
	w.reads("tbody tr", "prices")
	w.follows("See why")
}

func (w *walker) whyAreTheyDead() {
	w.t.Helper()
	w.reads("h1", "312 dead messages of orders")
	reasons := w.Texts("[aria-label=Reasons] tbody tr")
	want := []string{ // each with its last
		`^311\s+no such tax code: XI\s.*` + w.ago(62*time.Minute),
		`^1\s+read the amount: strconv\.ParseFloat: parsing "#,#": invalid syntax\s.*` + w.ago(6*time.Hour+45*time.Minute),
	}
	if len(reasons) != len(want) {
		w.t.Fatalf("the reasons are %q", reasons)
	}
	for n, reason := range reasons {
		if !regexp.MustCompile(`(?s)` + want[n]).MatchString(reason) {
			w.t.Errorf("reason %d is %q, and should be like %s", n, reason, want[n])
		}
	}
}

// whereIsTheOrder: the customer has said only its number.
func (w *walker) whereIsTheOrder() {
	w.t.Helper()
	w.follows("Topics")
	w.fills("Where is message", "4711")
	w.follows("Find")
	w.reads("main", "No message has exactly this content, in 2 topics", "These have it as a part")
	w.reads("main tbody tr", "dead", "orders")
	w.follows(nighttest.Poison)
	w.reads("h1", "Where is it?")
	w.reads(".content", nighttest.Poison)
	story := strings.Join(strings.Fields(w.Text(".place")), " ")
	for _, line := range []string{
		"In slot 3", "dead died " + w.ago(6*time.Hour+45*time.Minute), `last error read the amount: strconv\.ParseFloat: parsing "12,50": invalid syntax`,
		"attempt 17", "by " + w.stage.Worker, "first failed " + w.ago(6*time.Hour+51*time.Minute), "waits for you to requeue or delete it",
	} {
		if !regexp.MustCompile(line).MatchString(story) {
			w.t.Errorf("its page does not say %q: %s", line, story)
		}
	}
}

// ago fits how long ago something was when the night began, and how long ago it is now.
func (w *walker) ago(was time.Duration) string {
	var all []string
	for gone := time.Duration(0); gone < time.Since(w.stage.Zero)+time.Minute; gone += time.Minute {
		all = append(all, humantime.Duration(was+gone))
	}
	return "(" + strings.Join(all, "|") + ") ago"
}

// thisOneFirst has one delivered again, to see whether the handler is right now.
func (w *walker) thisOneFirst() {
	w.t.Helper()
	w.follows("Requeue it")
	w.reads("h1", "Requeue 1 dead message?")
	w.reads("main", "the one that you have chosen")
	w.follows("Requeue 1")
	w.reads("h1", "Requeue 1 dead message: done")
	w.reads("main [role=status]", "1 message requeued.")
	w.stage.AwaitDead(w.t, nighttest.Others)
	w.follows("Where is it now?")
	w.reads(".content", nighttest.Poison)
	w.reads("main [role=status]", "The message is not here", "handled already")
}

func (w *walker) thenTheOthers() {
	w.t.Helper()
	w.follows("Dead")
	w.reads("h1", "311 dead messages of orders")
	w.follows("no such tax code: XI")
	w.reads("h1", "311 dead messages that fit")
	w.follows("Requeue …")
	w.reads("h1", "Requeue 311 dead messages?")
	w.reads("main", "with the error “no such tax code: XI”", "At 100/s it takes 3s")
	w.fills("How fast", "100/s")
	w.follows("Requeue 311")
	w.reads("h1", "Requeue 311 dead messages")
	w.reads("h1", "done") // that the bar moves, TestRequeue sees
	w.reads("main [role=status]", "311 messages requeued.")
	w.stage.AwaitDead(w.t, 0)
}

func (w *walker) allIsWell() {
	w.t.Helper()
	w.follows("Topics")
	w.reads("main [role=status]", "Nothing needs you.")
	w.follows("Doctor")
	await.True(w.t, "the doctor finds nothing", func() bool { // a server that was slow for a moment is something
		if strings.Contains(w.Text("main"), "All is well.") {
			return true
		}
		w.follows("Look again")
		return false
	})
}
