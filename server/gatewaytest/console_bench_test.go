package gatewaytest

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

//	go test -run '^$' -bench Console -benchtime 60x ./gatewaytest
//
// What the console costs Redis, with so many viewers, in so many seconds: each benchmark first measures Redis and its
// workers alone for a third of the time, and then with a console and its viewers, from the first page on.

// stage is a Redis with topics, messages and workers.
type stage struct {
	testing.TB
	rdb     redis.UniversalClient
	url     string
	masters []*servertest.Server
	clients map[*servertest.Server]*redis.Client
	topics  []rmq.Topic
}

// newStage fills topics with messages that become due within two days. Four workers listen, and handle twenty
// messages a second.
func newStage(b testing.TB, rdb redis.UniversalClient, url string, masters []*servertest.Server, topics, slots, messages int) *stage {
	b.Helper()
	s := &stage{TB: b, rdb: rdb, url: url, masters: masters, clients: map[*servertest.Server]*redis.Client{}}
	for _, m := range masters {
		s.clients[m] = m.Client(b)
	}
	sender, err := rmq.New(rmq.Config{Redis: rdb})
	must.Do(b, err)
	for n := range topics {
		topic := rmq.Topic{Name: fmt.Sprintf("topic%d", n), Kind: rmq.KindFixedTime, Slots: slots}
		s.topics = append(s.topics, topic)
		for from := 0; from < messages; from += 5000 {
			var all []rmq.Message
			for i := from; i < min(messages, from+5000); i++ {
				all = append(all, rmq.FixedTime{Content: fmt.Sprintf("order %d of a customer", i), In: time.Hour + time.Duration(i)*(47*time.Hour/time.Duration(messages))})
			}
			_, err := sender.SendBatch(ctx, topic, all)
			must.Do(b, err)
		}
	}
	workers := []*rmq.Client{sender}
	for len(workers) < 4 {
		w, err := rmq.New(rmq.Config{Redis: rdb})
		must.Do(b, err)
		workers = append(workers, w)
	}
	for _, w := range workers {
		for _, topic := range s.topics {
			must.Do(b, w.Listen(topic, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return nil }), rmq.ListenOptions{}))
		}
		must.Do(b, w.Start(ctx))
	}
	sending, stop := context.WithCancel(ctx)
	var sends sync.WaitGroup
	sends.Go(func() {
		next := time.NewTicker(50 * time.Millisecond)
		defer next.Stop()
		for n := 0; sending.Err() == nil; n++ {
			select {
			case <-sending.Done():
			case <-next.C:
				_, _ = sender.Send(sending, s.topics[n%topics], rmq.FixedTime{Content: fmt.Sprint("now ", n), At: time.Now()})
			}
		}
	})
	b.Cleanup(func() {
		stop()
		sends.Wait()
		for _, w := range workers {
			must.Do(b, w.Close(ctx))
		}
	})
	return s
}

// worked is what the processors have worked for each master.
func (s *stage) worked() (all []time.Duration) {
	for _, m := range s.masters {
		all = append(all, m.CPU(s))
	}
	return all
}

// calls are how often each command was called so far, at all masters, and how long they took.
func (s *stage) calls() (calls map[string]int, took map[string]time.Duration) {
	calls, took = map[string]int{}, map[string]time.Duration{}
	line := regexp.MustCompile(`(?m)^cmdstat_(\S+?):calls=(\d+),usec=(\d+)`)
	for _, m := range s.masters {
		text, err := s.clients[m].Info(ctx, "commandstats").Result()
		must.Do(s, err)
		for _, f := range line.FindAllStringSubmatch(text, -1) {
			n, _ := strconv.Atoi(f[2])
			us, _ := strconv.Atoi(f[3])
			calls[f[1]] += n
			took[f[1]] += time.Duration(us) * time.Microsecond
		}
	}
	return calls, took
}

// looker is someone who has a page open.
type looker struct {
	mu     sync.Mutex
	asOf   string    // what the page says
	at     time.Time // when it came to say that
	events int
	ages   []time.Duration
}

var asOf = regexp.MustCompile(`as of ([-0-9: ]+UTC)`)

// look keeps a page open until ctx ends. One that has no stream it loads again and again.
func (l *looker) look(ctx context.Context, client *http.Client, address string) error {
	for again := time.Tick(2 * time.Second); ; <-again {
		if err := l.load(ctx, client, address); err != nil {
			return err
		}
	}
}

func (l *looker) load(ctx context.Context, client *http.Client, address string) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return err
	}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", address, res.Status)
	}
	lines := bufio.NewReaderSize(res.Body, 1<<20)
	for {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		found := asOf.FindStringSubmatch(line)
		if found == nil {
			continue
		}
		l.mu.Lock()
		l.events++
		if l.asOf != found[1] {
			l.asOf, l.at = found[1], time.Now()
		}
		l.mu.Unlock()
	}
}

// age notes how old the page is now, unless it is still empty.
func (l *looker) age(now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.events > 0 {
		l.ages = append(l.ages, now.Sub(l.at))
	}
}

// watch measures a console that so many pages are open of, in turns those that are given.
func (s *stage) watch(b *testing.B, viewers int, pages []string) {
	if b.N == 1 { // package testing tries it once before
		return
	}
	second := time.Tick(time.Second)
	pause := func(seconds int) {
		for range seconds {
			<-second
		}
	}
	without, alone := s.worked(), time.Now()
	pause(max(1, b.N/3))
	rate := make([]float64, len(s.masters))
	for n, worked := range s.worked() {
		rate[n] = float64(worked-without[n]) / float64(time.Since(alone))
	}

	at := servertest.Nobody(b)
	cmd := exec.Command(rmqd(b), "console", "--listen", at, "--redis", s.url)
	var calls map[string]int
	var took map[string]time.Duration
	before, began := s.worked(), time.Now()
	calls, took = s.calls()
	b.ResetTimer()
	must.Do(b, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	for !listens(at) {
		runtime.Gosched()
	}
	p := &post{TB: b, pid: cmd.Process.Pid}
	looking, stop := context.WithCancel(ctx)
	defer stop()
	client := &http.Client{Transport: &http.Transport{}}
	defer client.CloseIdleConnections()
	all := make([]*looker, viewers)
	var looks sync.WaitGroup
	for n := range all {
		l := &looker{}
		all[n] = l
		looks.Go(func() {
			if err := l.look(looking, client, "http://"+at+"/"+pages[n%len(pages)]); looking.Err() == nil {
				b.Error(err)
			}
		})
	}
	for range b.N {
		<-second
		for _, l := range all {
			l.age(time.Now())
		}
	}
	b.StopTimer()
	passed := time.Since(began)
	most := 0.0
	for n, worked := range s.worked() {
		most = max(most, float64(worked-before[n])/float64(passed)-rate[n])
	}
	busy, peak := p.spent(), p.memory()
	stop()
	looks.Wait()
	var ages []time.Duration
	events := 0
	for _, l := range all {
		ages, events = append(ages, l.ages...), events+l.events
	}
	slices.Sort(ages)
	b.ReportMetric(most*100, "%-redis-core")
	b.ReportMetric(slices.Max(rate)*100, "%-redis-alone")
	if len(ages) > 0 {
		b.ReportMetric(ages[len(ages)/2].Seconds(), "s-old-p50")
		b.ReportMetric(ages[len(ages)*99/100].Seconds(), "s-old-p99")
	}
	b.ReportMetric(float64(events)/passed.Seconds(), "events/s")
	b.ReportMetric(busy.Seconds()/passed.Seconds()*100, "%-console-core")
	b.ReportMetric(peak, "MiB-console")
	if os.Getenv("RMQ_CALLS") != "" {
		s.tellCalls(calls, took, passed)
	}
}

// tellCalls prints what was called since.
func (s *stage) tellCalls(calls map[string]int, took map[string]time.Duration, passed time.Duration) {
	now, spent := s.calls()
	names := slices.SortedFunc(func(yield func(string) bool) {
		for name := range now {
			if now[name] > calls[name] && !yield(name) {
				return
			}
		}
	}, func(a, b string) int { return cmp.Compare(spent[b]-took[b], spent[a]-took[a]) })
	for _, name := range names[:min(12, len(names))] {
		fmt.Printf("  %-14s %8.1f/s  %6.3f %%\n", name, float64(now[name]-calls[name])/passed.Seconds(), 100*float64(spent[name]-took[name])/float64(passed))
	}
}

// memory is the most that the process has had at a time, in MiB.
func (p *post) memory() float64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	must.Do(p, err)
	found := regexp.MustCompile(`VmHWM:\s+(\d+)`).FindSubmatch(text)
	kib, _ := strconv.Atoi(string(found[1]))
	return float64(kib) / 1024
}

// pages of a stage, so that of twenty viewers ten have a topic's each, five the topics, three the workers, two the doctor.
func (s *stage) pages() (all []string) {
	rest := []string{"live?page=", "live?page=", "live?page=", "live?page=", "live?page=", "live?page=workers", "live?page=workers", "live?page=workers", "doctor", "doctor"}
	for n := range 10 {
		all = append(all, rest[n], topicPage(s.topics[n%len(s.topics)]))
	}
	return all
}

func topicPage(t rmq.Topic) string {
	return "live?page=topic&" + url.Values{"topic": {t.Name}}.Encode()
}

// BenchmarkConsole has 10 topics of 64 slots, and many viewers; or one of each page.
func BenchmarkConsole(b *testing.B) {
	server := servertest.Redis(b)
	s := newStage(b, server.Client(b), "redis://"+server.Addr(), []*servertest.Server{server}, 10, 64, 1000)
	for _, viewers := range []int{0, 1, 20, 200} {
		b.Run(fmt.Sprint("viewers=", viewers), func(b *testing.B) { s.watch(b, viewers, s.pages()) })
	}
	for name, page := range map[string]string{"topics": "live?page=", "topic": topicPage(s.topics[0]), "workers": "live?page=workers", "doctor": "doctor"} {
		b.Run("page="+name, func(b *testing.B) { s.watch(b, 1, []string{page}) })
	}
	b.Run("viewers=200,page=topic", func(b *testing.B) { s.watch(b, 200, []string{topicPage(s.topics[0])}) })
}

// BenchmarkConsoleOfCluster is the same on a Cluster of three masters. It reports the one that works most.
func BenchmarkConsoleOfCluster(b *testing.B) {
	c := servertest.Cluster(b, 3, 0)
	var addrs []string
	for _, n := range c.Nodes() {
		addrs = append(addrs, n.Addr())
	}
	s := newStage(b, c.Client(b), "redis-cluster://"+strings.Join(addrs, ","), c.Nodes(), 10, 64, 1000)
	b.Run("viewers=20", func(b *testing.B) { s.watch(b, 20, s.pages()) })
}

// BenchmarkConsoleLarge has one topic of 65,536 slots with a million messages.
func BenchmarkConsoleLarge(b *testing.B) {
	server := servertest.Redis(b)
	s := newStage(b, server.Client(b), "redis://"+server.Addr(), []*servertest.Server{server}, 1, 65536, 1_000_000)
	b.Run("viewers=1", func(b *testing.B) { s.watch(b, 1, []string{topicPage(s.topics[0])}) })
	b.Run("viewers=20", func(b *testing.B) { s.watch(b, 20, s.pages()) })
}
