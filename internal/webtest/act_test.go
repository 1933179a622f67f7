package webtest

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
	"github.com/slotmq/go-rmq/server/console"
)

// withAndWithoutScript runs a test both ways, each on a scene of its own where no worker works any more, so that only the console
// changes something. The log is that of the console.
func withAndWithoutScript(t *testing.T, test func(t *testing.T, s *scene, at string, log *observer.ObservedLogs, p *browser.Page)) {
	t.Helper()
	for name, v := range map[string]browser.View{"with JavaScript": {}, "without JavaScript, on a phone": {NoScript: true, Width: 390}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScene(t, servertest.Redis(t).Client(t))
			s.rest()
			core, log := observer.New(zap.InfoLevel)
			at := s.console(func(cfg *console.Config) { cfg.Logger = zap.New(core) })
			p := browser.Open(t, v)
			test(t, s, at, log, p)
			p.Fine()
		})
	}
}

// What a person on call changes is changed, said, and logged.
func TestForms(t *testing.T) {
	t.Parallel()
	withAndWithoutScript(t, func(t *testing.T, s *scene, at string, log *observer.ObservedLogs, p *browser.Page) {
		done := func(text string) {
			t.Helper()
			p.WaitFor("main [role=status]", text)
		}
		logged := func(what, topic string) {
			t.Helper()
			for _, line := range log.TakeAll() {
				if f := line.ContextMap(); f["what"] == what && f["topic"] == topic && f["by"] != "" {
					return
				}
			}
			t.Errorf("%s of topic %s is not logged", what, topic)
		}
		p.Open(at + "topic?topic=orders")
		p.Follow("form[action=pause] button:not([formaction])")
		p.WaitFor("main [role=alert]", "tick the box for all slots")
		if of, err := s.inspector.Stats(ctx, orders.Name); err != nil || of.Paused != 0 {
			t.Errorf("%d slots are paused: %v", of.Paused, err)
		}
		p.Faults() // the answer was 422
		p.Open(at + "topic?topic=orders")
		p.Fill("form[action=pause] input[name=slots]", "0-3")
		p.Follow("form[action=pause] button:not([formaction])")
		done("4 slots paused")
		logged("pause", orders.Name)
		if of, err := s.inspector.Stats(ctx, orders.Name); err != nil || of.Paused != 4 {
			t.Errorf("%d slots are paused: %v", of.Paused, err)
		}
		p.Follow("button[formaction=resume]")
		done("4 slots resumed")
		logged("resume", orders.Name)

		p.Fill("form[action=limit] input[name=rate]", "50/s")
		p.Follow("form[action=limit] button:not([name])")
		done("The topic is limited")
		if policy, err := s.inspector.Policy(ctx, orders.Name); err != nil || policy.Rate != 50 {
			t.Errorf("the limit is %v: %v", policy, err)
		}
		p.Follow("form[action=limit] button[name=off]")
		done("The limit is over")
		logged("unlimit", orders.Name)

		p.Open(at + "message?topic=orders&content=order+1-1")
		p.Choose("form[action=reschedule] select", "in")
		p.Fill("form[action=reschedule] input[name=in]", "10m")
		p.Follow("form[action=reschedule] button")
		done("has its new time")
		p.WaitFor("main", "in 9m")
		p.Click("#sure")
		p.Follow("form[action=cancel] button")
		done("The message is cancelled")
		if found, err := s.inspector.Explain(ctx, orders.Name, "order 1-1", ""); err != nil || len(found) != 0 {
			t.Errorf("the message is still there: %+v %v", found, err)
		}

		p.Open(at + "recurring?topic=reports")
		p.WaitFor("main", "nightly")
		p.Follow("main td a[href^=stopplan]")
		p.WaitFor("h1", "Stop the plan")
		p.Follow("form[action=stopplan] button")
		done("The plan is stopped")
		if plans, err := s.inspector.Plans().List(ctx, reports.Name); err != nil || len(plans) != 1 {
			t.Errorf("the plans are %+v: %v", plans, err)
		}
	})
}

// A mistake in a form changes nothing, and the answer says how it is written.
func TestMistakesInForms(t *testing.T) {
	t.Parallel()
	s := newScene(t, servertest.Redis(t).Client(t))
	s.rest()
	at := s.console()
	before := everything(t, s.rdb)
	p := browser.Open(t, browser.View{})
	for form, c := range map[string]struct{ page, field, value, button, says string }{
		"slots":    {"topic?topic=orders", "form[action=pause] input[name=slots]", "a-b", "form[action=pause] button:not([formaction])", "Slots are written as"},
		"rate":     {"topic?topic=orders", "form[action=limit] input[name=rate]", "fast", "form[action=limit] button:not([name])", "A rate is written as"},
		"handlers": {"topic?topic=orders", "form[action=limit] input[name=concurrency]", "0", "form[action=limit] button:not([name])", "number of handlers"},
		"how long": {"topic?topic=orders", "form[action=limit] input[name=for]", "long", "form[action=limit] button:not([name])", "How long it holds"},
		"number":   {"delete?topic=orders", "input[name=number]", "27", "main form button", "Nothing is deleted"},
	} {
		p.Open(at + c.page)
		p.Fill(c.field, c.value)
		p.Follow(c.button)
		p.WaitFor("main [role=alert]", c.says)
		if faults := p.Faults(); form != "number" && !strings.Contains(fmt.Sprint(faults), "422") {
			t.Errorf("%s: %q", form, faults)
		}
	}
	for _, change := range changes(before, everything(t, s.rdb)) {
		t.Error(change)
	}
}

// Dead messages are requeued at a rate, from their reason on, and the page shows how far it is until the end. Who presses
// the button twice begins it once.
func TestRequeue(t *testing.T) {
	t.Parallel()
	withAndWithoutScript(t, func(t *testing.T, s *scene, at string, log *observer.ObservedLogs, p *browser.Page) {
		p.Open(at)
		p.Follow("a[href^=dead]")
		p.WaitFor("main", "no such tax code #")
		p.Follow(`a[href*="group=no+such+tax+code"]`)
		p.Follow("button.main:not([formaction])")
		p.WaitFor("h1", fmt.Sprintf("Requeue %d dead messages?", taxDead))
		p.Fill("input[name=rate]", "2/s") // slowly: on a busy machine it is looked at only now and then
		p.DoubleClick("form[action=requeue] button")
		p.WaitFor("main .progress", fmt.Sprintf("of %d", taxDead))
		mark(p)
		seen, bar := map[string]bool{}, map[float64]bool{}
		await.True(t, "the requeue ends", func() bool {
			if text := p.Text(".progress b"); text != "" {
				seen[text] = true
			}
			if at := browser.Value[float64](p, "document.querySelector('progress')?.position ?? -1"); at >= 0 {
				bar[at] = true
			}
			return strings.Contains(p.Text("h1"), "done")
		})
		seen[p.Text(".progress b")] = true // the last of them, which may have come between the two looks
		if len(seen) < 3 || !seen[fmt.Sprintf("%d of %d", taxDead, taxDead)] {
			t.Errorf("its progress was %v", seen)
		}
		if len(bar) < 2 {
			t.Errorf("the bar did not move: %v", bar)
		}
		if !p.NoScript && !marked(p) {
			t.Error("the page was loaded again")
		}
		p.WaitFor("main", fmt.Sprintf("%d messages requeued", taxDead))
		of, err := s.inspector.Stats(ctx, orders.Name)
		must.Do(t, err)
		if of.Dead != addressDead {
			t.Errorf("%d are dead, and %d should be", of.Dead, addressDead)
		}
		if begun := log.Filter(func(e observer.LoggedEntry) bool { return e.ContextMap()["what"] == "requeue begins" }).Len(); begun != 1 {
			t.Errorf("%d requeues were begun", begun)
		}
	})
}

// Some are chosen by hand; and what is deleted is deleted only after its number was typed.
func TestDeleteDead(t *testing.T) {
	t.Parallel()
	withAndWithoutScript(t, func(t *testing.T, s *scene, at string, log *observer.ObservedLogs, p *browser.Page) {
		dead := func() int {
			of, err := s.inspector.Stats(ctx, orders.Name)
			must.Do(t, err)
			return of.Dead
		}
		p.Open(at + "dead?topic=orders&" + url.Values{"reason": {"no street"}}.Encode())
		p.WaitFor("h1", "3 dead messages that fit")
		p.Click("input[name=pick]")
		p.Follow("button[formaction=delete]")
		p.WaitFor("h1", "Delete 1 dead message")
		p.Fill("input[name=number]", "28")
		p.Follow("main form button")
		p.WaitFor("[role=alert]", "Nothing is deleted")
		if n := dead(); n != taxDead+addressDead {
			t.Errorf("%d are dead after a wrong number", n)
		}
		p.Fill("input[name=number]", "1")
		p.Follow("main form button")
		p.WaitFor("main", "1 message deleted for ever")
		if n := dead(); n != taxDead+addressDead-1 {
			t.Errorf("%d are dead", n)
		}
	})
}

// A requeue can be stopped. What is done stays done.
func TestStopARequeue(t *testing.T) {
	t.Parallel()
	withAndWithoutScript(t, func(t *testing.T, s *scene, at string, log *observer.ObservedLogs, p *browser.Page) {
		p.Open(at + "requeue?topic=orders")
		p.Fill("input[name=rate]", "6/m")
		p.Follow("form[action=requeue] button")
		p.WaitFor(".progress b", "of 28")
		p.WaitFor(".progress", "to go") // how long it will take
		await.True(t, "the requeue is stopped", func() bool {
			// Once in each page: what loads it again may take the click away, and the end takes the button away.
			browser.Value[bool](p, `(b => { if (b && !b.clicked) { b.clicked = true; b.click() }; return true })(document.querySelector('form[action=stop] button'))`)
			return strings.Contains(p.Text("h1"), "stopped")
		})
		of, err := s.inspector.Stats(ctx, orders.Name)
		must.Do(t, err)
		p.WaitFor("main", fmt.Sprintf("%d message", taxDead+addressDead-of.Dead))
		if of.Dead == 0 {
			t.Error("none is left")
		}
	})
}

// What is listed can be taken away as a file, with the filter of the page.
func TestExport(t *testing.T) {
	t.Parallel()
	s := newScene(t, servertest.Redis(t).Client(t))
	s.rest()
	at := s.console()
	p := browser.Open(t, browser.View{})
	for query, want := range map[string]int{"": taxDead + addressDead, "&reason=no+street": addressDead} {
		p.Open(at + "dead?topic=orders" + query)
		answer, err := http.Get(browser.Value[string](p, "document.querySelector('a[download]').href"))
		must.Do(t, err)
		text, err := io.ReadAll(answer.Body)
		must.Do(t, errors.Join(err, answer.Body.Close()))
		if lines := strings.Count(string(text), "\n"); answer.StatusCode != http.StatusOK || lines != want || !strings.HasPrefix(string(text), "{") {
			t.Errorf("%s: %d, %d lines, and %d should be:\n%.300s", query, answer.StatusCode, lines, want, text)
		}
		if name := answer.Header.Get("Content-Disposition"); !strings.HasPrefix(name, "attachment") {
			t.Errorf("%s: Content-Disposition %q", query, name)
		}
	}
	p.Fine()
}
