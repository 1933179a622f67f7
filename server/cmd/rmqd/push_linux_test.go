package main

import (
	osexec "os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
)

// process is rmqd push as a process of its own.
type process struct {
	*osexec.Cmd
	errs *output
}

func (s *shop) push(args ...string) *process {
	s.t.Helper()
	p := &process{rmqd(s.t, "", append([]string{"push", "--redis", "redis://" + s.server.Addr()}, args...)...), &output{}}
	p.Dir, p.Stderr = s.t.TempDir(), p.errs
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	must.Do(s.t, p.Start())
	s.t.Cleanup(func() {
		_ = p.Process.Kill() // unless it has ended
		_ = p.Wait()
	})
	return p
}

// SIGHUP makes it read the secrets again, even if wrong ones are in the file; SIGTERM waits for the
// answers.
func TestPushIsSignalled(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.put("order1")
	held, goOn := make(chan struct{}), make(chan struct{})
	url, got := receiver(t, func(p posted) {
		if p.body == "order4" {
			close(held)
			<-goOn
		}
	})
	secret := aFile(t, hushes)
	p := s.push("--topic", "orders", "--to", url, "--secret-file", secret, "--allow-private")
	signatures := func(content string) int {
		t.Helper()
		q := nextOf(t, got)
		if q.body != content {
			t.Errorf("got %s and not %s", q.body, content)
		}
		return len(strings.Fields(q.Get("Webhook-Signature")))
	}
	if n := signatures("order1"); n != 1 {
		t.Errorf("%d signatures", n)
	}
	write(t, secret, "hush")
	must.Do(t, p.Process.Signal(syscall.SIGHUP))
	awaitText(t, p.errs, "SIGHUP: the secrets stay as they were")
	s.put("order2")
	if n := signatures("order2"); n != 1 {
		t.Errorf("%d signatures", n)
	}
	write(t, secret, hushes+"\nwhsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
	must.Do(t, p.Process.Signal(syscall.SIGHUP))
	awaitText(t, p.errs, "SIGHUP: the secrets were read again")
	s.put("order3")
	if n := signatures("order3"); n != 2 {
		t.Errorf("%d signatures", n)
	}
	s.put("order4")
	<-held
	must.Do(t, p.Process.Signal(syscall.SIGTERM))
	close(goOn)
	if err := p.Wait(); err != nil {
		t.Errorf("%v: %s", err, p.errs)
	}
	if strings.Contains(p.errs.String(), "hush") || strings.Contains(p.errs.String(), "aHVzaG") {
		t.Errorf("the log shows a secret: %s", p.errs)
	}
	if n := s.rdb.Exists(ctx, "prepare{orders_0}").Val(); n > 0 {
		t.Error("a message is still under way")
	}
	r := call("explain", "orders", "order4", "--redis", "redis://"+s.server.Addr())
	failsWith(t, r, 1, words("explain orders order4"), "order4 is not here: never sent, handled already")
}

// A file that has a new target changes no secrets, since that needs another start: what the log says is so.
func TestPushRereadsAllOrNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.put("order1")
	url, got := receiver(t, func(posted) {})
	target := func(topic, secrets string) string {
		return `{"topic":"` + topic + `","url":"` + url + `","secrets":[` + secrets + `],"allow_private":true}`
	}
	const two = `"` + hushes + `","whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"`
	config := aFile(t, `{"targets":[`+target("orders", `"`+hushes+`"`)+`]}`)
	p := s.push("--config", config)
	nextOf(t, got)
	write(t, config, `{"targets":[`+target("orders", two)+`,`+target("bills", two)+`]}`)
	must.Do(t, p.Process.Signal(syscall.SIGHUP))
	awaitText(t, p.errs, "topic bills has a target since: start anew")
	s.put("order2")
	if n := len(strings.Fields(nextOf(t, got).Get("Webhook-Signature"))); n != 1 {
		t.Errorf("%d signatures", n)
	}
}

// Two processes share the slots. One is killed while it waits for answers: the other goes on with all of it, and in each
// slot one message after the other, with fences that only grow.
func TestPushIsKilled(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	const messages = 300
	var mu sync.Mutex
	fences, under := map[string]int64{}, map[string]bool{} // by slot
	by, done, killed := map[string]int{}, map[string]bool{}, false
	held, over := make(chan struct{}, messages), make(chan struct{})
	defer close(over) // before the receiver is closed
	url, _ := receiver(t, func(p posted) {
		slot, process := p.Get("Rmq-Slot"), p.Get("X-Process")
		fence, err := strconv.ParseInt(p.Get("Rmq-Fence"), 10, 64)
		mu.Lock()
		by[process]++
		if err != nil || fence < fences[slot] {
			t.Errorf("slot %s: the fence is %d after %d", slot, fence, fences[slot])
		}
		if fences[slot] = fence; under[slot] && !killed {
			t.Errorf("slot %s: two messages are under way", slot)
		}
		hangs := process == "1" && by["1"] > 10 && by["2"] > 10
		under[slot] = true
		mu.Unlock()
		if hangs {
			held <- struct{}{}
			<-over
			return
		}
		mu.Lock()
		under[slot], done[p.body] = false, true
		mu.Unlock()
	})
	secret := aFile(t, hushes)
	s.put("first")
	config := func(process string) string {
		return aFile(t, `{"targets": [{"topic": "orders", "url": "`+url+`", "secret_files": ["`+secret+`"], "allow_private": true, "headers": {"X-Process": "`+process+`"}}]}`)
	}
	one := s.push("--config", config("1"))
	s.push("--config", config("2"))
	send := func(from, to int) {
		for i := from; i < to; i++ {
			s.put(strconv.Itoa(i))
		}
	}
	sent := 0
	await.True(t, "both have slots, and the first one hangs", func() bool { // until both have slots, and the first one hangs
		send(sent, sent+20)
		sent += 20
		return len(held) > 0
	})
	mu.Lock()
	killed = true
	mu.Unlock()
	must.Do(t, one.Process.Kill())
	send(sent, sent+messages)
	sent += messages
	await.True(t, "all are done", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(done) == sent+1
	})
	mu.Lock()
	defer mu.Unlock()
	if len(done) != sent+1 || by["1"] <= 10 || by["2"] <= 10 {
		t.Errorf("%d of %d are done; %v", len(done), sent+1, by)
	}
}
