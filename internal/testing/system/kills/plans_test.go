package kills

import (
	"bufio"
	"context"
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/system/workers"
	"github.com/slotmq/go-rmq/internal/upkeep/plan"
	"github.com/slotmq/go-rmq/rmq"
)

// Processes declare the same plans when they start, are killed, frozen, and replaced by a newer
// version with another rule. What they send is read off Redis itself, which shows each write.

var reports = rmq.Topic{Name: "reports", Kind: rmq.KindFixedTime, Slots: 4}

// recurring are the plans of a version of the program. The last one has a handler that takes long.
func recurring(version int) []rmq.Recurring {
	var all []rmq.Recurring
	for i := range 4 {
		all = append(all, rmq.Recurring{Name: fmt.Sprint("plan", i), Content: workers.Content(fmt.Sprint("plan", i), 0), Period: 100 * time.Millisecond})
	}
	if version == 2 {
		all[0].Period = 150 * time.Millisecond
	}
	return append(all, rmq.Recurring{Name: "slow", Content: workers.Content("slow", 0, workers.Slow), Period: 100 * time.Millisecond})
}

func TestProcessesWithPlans(t *testing.T) {
	t.Parallel()
	plansUnderKills(t, workers.New(t, workers.Job{Topics: []rmq.Topic{reports}, Lease: 4 * time.Second, Backoff: 10 * time.Millisecond, Plans: recurring(1)}))
}

func TestProcessesWithPlansAndZooKeeper(t *testing.T) {
	t.Parallel()
	zks := servertest.SharedZooKeeper(t)
	plansUnderKills(t, workers.New(t, workers.Job{
		Topics: []rmq.Topic{reports}, Backoff: 10 * time.Millisecond, Plans: recurring(1),
		ZooKeeper: zks.Servers(), Root: zks.Chroot(t), Session: 4 * time.Second,
	}))
}

func plansUnderKills(t *testing.T, c *workers.Group) {
	log := watchPlans(t, c)
	alive := c.Work(3)
	goOn := func(after string) {
		before := log.times()
		c.Await("each plan is sent on, "+after, func() bool {
			now := log.times()
			for _, r := range recurring(1) {
				if now[r.Name] < before[r.Name]+5 {
					return false
				}
			}
			return true
		})
	}
	goOn("at first")
	for range night.Times(1, 2) {
		c.Await("a worker is at work", func() bool { return c.By[alive[0].Name] > 0 })
		alive[0].Kill()
		goOn("when one was killed")
		alive = append(alive[1:], c.Work(1)...)
		alive[0].Freeze()
		goOn("when one stands still")
		alive[0].Thaw()
		goOn("when it goes on")
	}
	old := slices.Clone(alive) // a newer version of the program takes their place, one by one, and one old one starts again
	for i, p := range old {
		next := c.Warm(func(j *workers.Job) { j.Plans = recurring(2) })
		c.GoAll(next)
		p.Term()
		c.AwaitKind(p.Name, proctest.Closed)
		alive = append(alive[1:], next)
		if i == 1 {
			late := c.Work(1)[0]
			goOn("when an old one has started again")
			late.Kill()
		}
	}
	goOn("when all are new")
	all, err := c.Client.Plans(context.Background(), reports)
	must.Do(t, err)
	if len(all) != 5 || all[0].Period != 150*time.Millisecond {
		t.Errorf("%+v", all)
	}
	for _, p := range alive {
		if gone, _ := p.Gone(); !gone {
			p.Term()
			c.AwaitKind(p.Name, proctest.Closed)
		}
	}
	log.catchUp(c)
	log.judge(c, 5+c.Count[proctest.Stall])
}

// planLog is what Redis has written for plans and their messages, in its order: each command that a
// script has executed.
type planLog struct {
	mu     sync.Mutex
	faults []string
	fires  *planFire         // the call that is being executed, and has not moved its plan on yet
	rule   map[string]string // name -> rule, as it is stored
	next   map[string]int64  // name -> ms of the next time
	moved  map[string]int    // name -> how often it was moved on
	missed map[string]int    // name -> how many times were made up for by others
	sent   map[string]int    // content -> how often it was stored by a plan
	waits  map[string]bool   // contents in a store
	late   []time.Duration   // each occurrence
	ended  bool              // what is read was written before catchUp
}

// planFire is one call to send an occurrence.
type planFire struct {
	name, content string
	at            int64
	sends         bool
}

// watchPlans reads what Redis does, from now on.
func watchPlans(t *testing.T, c *workers.Group) *planLog {
	t.Helper()
	l := &planLog{
		rule: map[string]string{}, next: map[string]int64{}, moved: map[string]int{}, missed: map[string]int{},
		sent: map[string]int{}, waits: map[string]bool{},
	}
	conn, err := net.Dial("tcp", c.Server.Addr())
	must.Do(t, err)
	_, err = conn.Write([]byte("MONITOR\r\n"))
	must.Do(t, err)
	lines := bufio.NewScanner(conn)
	if !lines.Scan() || lines.Text() != "+OK" {
		t.Fatalf("%q, %v", lines.Text(), lines.Err())
	}
	var reading sync.WaitGroup
	reading.Go(func() {
		for lines.Scan() {
			l.read(lines.Text())
		}
	})
	t.Cleanup(func() {
		_ = conn.Close()
		reading.Wait()
	})
	return l
}

// words are those of a line of MONITOR. Valkey 8.1 does not escape the quotes in them, as Redis does.
func words(line string) (all []string) {
	_, quoted, _ := strings.Cut(line, "] ")
	for word := range strings.SplitSeq(strings.Trim(quoted, `"`), `" "`) {
		if text, err := strconv.Unquote(`"` + word + `"`); err == nil {
			word = text
		}
		all = append(all, word)
	}
	return all
}

// theEnd is what nobody but catchUp says to Redis.
const theEnd = "all plans were read"

// catchUp returns when everything that Redis has done was read.
func (l *planLog) catchUp(c *workers.Group) {
	c.T.Helper()
	must.Do(c.T, c.Redis.Echo(c.T.Context(), theEnd).Err())
	await.True(c.T, theEnd, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return l.ended
	})
}

// told are words of the lines that matter; most others are of workers that look around.
var told = regexp.MustCompile(`"FIRE"|lua\] "(?:HSET" "rule|ZADD" "(?:plan|prepare|reports_))|` + theEnd)

// read reads one command, such as: 1795424009.893183 [0 lua] "ZADD" "plan{reports_3}" "1795424010000" "plan0"
func (l *planLog) read(line string) {
	if !told.MatchString(line) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = l.ended || strings.Contains(line, theEnd)
	args := words(line)
	seconds, _, _ := strings.Cut(strings.TrimPrefix(line, "+"), " ")
	at, _ := strconv.ParseFloat(seconds, 64)
	ms := int64(at * 1000)
	if n := slices.Index(args, "FIRE"); n > 0 && len(args) == n+7 {
		was, _ := strconv.ParseInt(args[n+3], 10, 64)
		l.fires = &planFire{name: args[n+1], content: args[n+5], at: was}
		return
	}
	if !strings.Contains(line, " lua] ") || len(args) < 3 {
		return
	}
	switch key, _, _ := strings.Cut(args[1], "{"); {
	case args[0] == "HSET" && key == "rule":
		l.fires = nil
		l.rule[args[2]] = args[3]
		delete(l.next, args[2])
	case args[0] == "ZADD" && key == "plan":
		next, _ := strconv.ParseInt(args[2], 10, 64)
		l.moves(args[3], next, ms)
	case args[0] == "ZADD" && key == "prepare": // taken
		for n := 3; n < len(args); n += 2 {
			delete(l.waits, args[n])
		}
	case args[0] == "ZADD" && strings.HasPrefix(args[1], "reports_"):
		for n := 3; n < len(args); n += 2 {
			if f := l.fires; f != nil && f.content == args[n] {
				f.sends = true
				l.sent[f.content]++
				if l.waits[f.content] {
					l.fault("%s is sent again while it waits", f.content)
				}
			}
			l.waits[args[n]] = true
		}
	}
}

// moves notes that a plan stands at another time now.
func (l *planLog) moves(name string, next, now int64) {
	f, stood, known := l.fires, l.next[name], l.next[name] != 0
	l.fires, l.next[name] = nil, next
	if !known { // it was set
		if f != nil {
			l.fault("%s moves on, and was not set", name)
		}
		return
	}
	since, text, _ := plan.Split(l.rule[name])
	rule, err := plan.Read(name, text)
	if f == nil || err != nil || f.name != name || f.at != stood {
		l.fault("%s moves from %d to %d by %+v: %v", name, stood, next, f, err)
		return
	}
	if !f.sends && !l.waits[f.content] {
		l.fault("the occurrence of %s at %d is not sent", name, stood)
	}
	after := func(ms int64) int64 {
		at, _ := rule.Next(since.Base, time.UnixMilli(ms))
		return at.UnixMilli()
	}
	if next <= stood || after(next-1) != next || next > after(now) || stood > now {
		l.fault("%s moves from %d to %d at %d", name, stood, next, now)
		return
	}
	l.moved[name]++
	for at := after(stood); at < next; at = after(at) {
		l.missed[name]++
	}
	l.late = append(l.late, time.Duration(now-stood)*time.Millisecond)
}

func (l *planLog) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// times are how often each plan was moved on.
func (l *planLog) times() map[string]int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return maps.Clone(l.moved)
}

// judge fails the test if a plan went wrong. Each of so many mishaps may have cost one delivery of
// each content: what was in hand comes back, and is dropped if the next one waits by then.
func (l *planLog) judge(c *workers.Group, mishaps int) {
	c.T.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, fault := range l.faults {
		c.T.Error(fault)
	}
	done := map[string]int{}
	for _, e := range c.Events() {
		if e.Kind == proctest.Done {
			done[e.Content]++
		}
	}
	for _, r := range recurring(1) {
		if n, sent := done[r.Content], l.sent[r.Content]; n < sent-1-mishaps || n > sent+mishaps {
			c.T.Errorf("%s was sent %d times, and done %d times", r.Content, sent, n)
		}
	}
	if slow := l.sent[workers.Content("slow", 0, workers.Slow)]; slow == 0 || 4*slow > l.moved["slow"] {
		c.T.Errorf("of %d occurrences that came while one was handled or waited, %d were sent", l.moved["slow"], slow)
	}
	slices.Sort(l.late)
	n := len(l.late)
	c.T.Logf("%v occurrences, %v more made up for; %v messages; late by %v, %v of a hundred by %v, one by %v",
		l.moved, l.missed, l.sent, l.late[n/2], 99, l.late[n*99/100], l.late[n-1])
}
