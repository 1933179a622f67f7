package commands

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/testing/sharetest"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/message"
)

// What needs the binary itself: signals, and what would take too long with the race detector.
func TestBinary(t *testing.T) {
	t.Parallel()
	dir := build(t)
	t.Run("million", func(t *testing.T) { t.Parallel(); exportMillion(t, dir) })
	t.Run("requeue", func(t *testing.T) { t.Parallel(); interruptedRequeue(t, dir) })
	t.Run("delete and export", func(t *testing.T) { t.Parallel(); interruptedDeleteAndExport(t, dir) })
	t.Run("cluster", func(t *testing.T) { t.Parallel(); interruptedOnCluster(t, dir) })
	t.Run("network", func(t *testing.T) { t.Parallel(); brokenRequeue(t, dir) })
	t.Run("second signal", func(t *testing.T) { t.Parallel(); secondSignal(t, dir) })
	t.Run("large contents", func(t *testing.T) { t.Parallel(); largeContents(t, dir) })
}

// build makes the binary, and returns the directory in which it is.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.Command("go", "build", "-ldflags=-s -w", "-o", filepath.Join(dir, "rmq"), "../../cmd/rmq")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// shell is where the binary is called: the directory that it is in, and its Redis.
type shell struct {
	t   *testing.T
	dir string
	url string
}

// command is a call. Its stdin is empty.
func (s shell) command(name string, args ...string) (*exec.Cmd, *bytes.Buffer) {
	cmd := exec.Command(name, args...)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	cmd.Env = append(os.Environ(), "RMQ_REDIS="+s.url, "PATH="+s.dir+":"+os.Getenv("PATH"))
	return cmd, &errs
}

// line runs what a person would paste.
func (s shell) line(text string) {
	s.t.Helper()
	cmd, errs := s.command("sh", "-c", text)
	if out, err := cmd.Output(); err != nil {
		s.t.Errorf("%s: %v\n%s%s", text, err, out, errs)
	}
}

// strike is a call that is struck when so many requests of it have come by.
type strike struct {
	args    []string
	signal  syscall.Signal
	request int // 0: it is left alone, to count them
	out     *os.File
}

// do runs it through the proxy. It returns how it ended, and how many requests there
// were.
func (s shell) do(proxy *servertest.Proxy, x strike) (state *os.ProcessState, errs string, requests int) {
	s.t.Helper()
	s.url = "redis://" + proxy.Addr()
	cmd, buffer := s.command(filepath.Join(s.dir, "rmq"), x.args...)
	if x.out != nil {
		cmd.Stdout = x.out
	}
	var count atomic.Int64
	started := make(chan struct{})
	proxy.OnRequest(func([]byte) bool {
		<-started // the process is known
		if int(count.Add(1)) == x.request {
			_ = cmd.Process.Signal(x.signal) // it may have ended
		}
		return true
	})
	defer proxy.OnRequest(nil)
	must.Do(s.t, cmd.Start())
	close(started)
	var exit *exec.ExitError
	if err := cmd.Wait(); err != nil && !errors.As(err, &exit) {
		s.t.Fatal(err)
	}
	return cmd.ProcessState, buffer.String(), int(count.Load())
}

// cemetery is a topic with many dead messages. Of each tenth a copy is alive.
type cemetery struct {
	t     *testing.T
	rdb   redis.UniversalClient
	topic message.Topic
	n     int
}

func (c cemetery) content(i int) string { return fmt.Sprintf("order %d", i) }
func (c cemetery) lives(i int) bool     { return i%10 == 0 }

func (c cemetery) fill() {
	c.t.Helper()
	empty := func(ctx context.Context, one *redis.Client) error { return one.FlushDB(ctx).Err() }
	if many, ok := c.rdb.(*redis.ClusterClient); ok {
		must.Do(c.t, many.ForEachMaster(ctx, empty))
	} else {
		must.Do(c.t, empty(ctx, c.rdb.(*redis.Client)))
	}
	died := time.Now().Add(-time.Hour)
	bury(c.t, c.rdb, c.topic, c.n, func(i int) deadOne {
		return deadOne{content: c.content(i), died: died.Add(time.Duration(i/3) * time.Millisecond)}
	})
	var ms []message.Message
	for i := range c.n {
		if c.lives(i) {
			ms = append(ms, later(c.content(i)))
		}
	}
	send(c.t, c.rdb, c.topic, ms...)
}

// look checks that each content is where it may be, once, and returns how many are
// dead.
func (c cemetery) look(what string) (dead int) {
	c.t.Helper()
	// The last request of a process that was killed may be on its way still.
	buried, waiting := members(c.t, c.rdb, c.topic, inDead), members(c.t, c.rdb, c.topic, inStore)
	for again := members(c.t, c.rdb, c.topic, inDead); !maps.Equal(buried, again); again = members(c.t, c.rdb, c.topic, inDead) {
		buried, waiting = again, members(c.t, c.rdb, c.topic, inStore)
	}
	now, err := c.rdb.Time(ctx).Result()
	must.Do(c.t, err)
	for i := range c.n {
		_, isDead := buried[c.content(i)]
		due, waits := waiting[c.content(i)]
		if c.lives(i) {
			if !waits || due < float64(now.UnixMilli()) {
				c.t.Fatalf("%s: the live copy of %s is gone, or due", what, c.content(i))
			}
		} else if isDead == waits {
			c.t.Fatalf("%s: %s is dead: %v, waits: %v", what, c.content(i), isDead, waits)
		}
	}
	for content := range buried {
		if _, known := strings.CutPrefix(content, "order "); !known {
			c.t.Fatalf("%s: %q is new", what, content)
		}
	}
	for _, k := range []func(protocol.SlotKeys) string{
		func(k protocol.SlotKeys) string { return k.Prepare }, func(k protocol.SlotKeys) string { return k.Retry },
	} {
		if n := len(members(c.t, c.rdb, c.topic, k)); n != 0 {
			c.t.Fatalf("%s: %d are in flight or retried", what, n)
		}
	}
	return len(buried)
}

// A requeue may be interrupted at any time: nothing is lost, nothing is there twice, and the
// command that it prints does the rest.
func interruptedRequeue(t *testing.T, dir string) {
	const parts = 4
	points := night.Times(24, 152) // two thirds of them by SIGINT, the others by SIGTERM and SIGKILL
	seed := sharetest.Seed(t)
	var halfway atomic.Int64
	t.Run("points", func(t *testing.T) {
		for part := range parts {
			t.Run(fmt.Sprint(part), func(t *testing.T) {
				t.Parallel()
				server := servertest.Redis(t)
				proxy := servertest.NewProxy(t, server.Addr())
				c := cemetery{t, server.Client(t), message.Topic{Name: "orders", Kind: message.KindRangeMerge, Slots: 16}, 3000}
				s := shell{t, dir, "redis://" + server.Addr()}
				random := rand.New(rand.NewPCG(uint64(seed), uint64(part)))
				requeue := []string{"dead", "requeue", "orders", "--yes"}
				c.fill()
				_, _, requests := s.do(proxy, strike{args: requeue})
				if left := c.look("left alone"); left != 0 || requests < 20 {
					t.Fatalf("%d left of a requeue of %d requests", left, requests)
				}
				for point := range points / parts {
					at := (point*requests + random.IntN(requests)) * parts / points // all over it
					x := strike{args: requeue, request: 1 + at, signal: syscall.SIGINT}
					if random.IntN(2) == 0 { // it also waits between its steps
						x.args = append(requeue, "--rate", "50000")
					}
					switch point % 6 {
					case 4:
						x.signal = syscall.SIGTERM
					case 5:
						x.signal = syscall.SIGKILL
					}
					c.fill()
					state, errs, _ := s.do(proxy, x)
					errs = errs[strings.LastIndex(strings.TrimSuffix(errs, "\n"), "\n")+1:] // above it may be how far it was
					left := c.look(fmt.Sprint(x))
					if left > 0 && left < c.n {
						halfway.Add(1)
					}
					goOn := strings.Join(append([]string{"rmq"}, requeue...), " ")
					switch _, printed, found := strings.Cut(errs, "; go on with: "); {
					case x.signal == syscall.SIGKILL:
					case state.ExitCode() == 0: // it came too late
						if left != 0 {
							t.Errorf("%v: %d are left, and it said nothing", x, left)
						}
						continue
					case state.ExitCode() != 130 || strings.Count(errs, "\n") != 1 || !strings.HasPrefix(errs, "rmq: interrupted"):
						t.Fatalf("%v: %v, %q", x, state, errs)
					case found:
						goOn = strings.TrimSpace(printed)
						if far := fmt.Sprintf("; %s of %s requeued; ", words.Grouped(c.n-left), words.Grouped(c.n)); !strings.Contains(errs, far) || !strings.Contains(goOn, " --died-before=") {
							t.Errorf("%v: %q, and %d are left", x, errs, left)
						}
					case left != c.n: // it had not begun, so there is nothing to go on from
						t.Errorf("%v: %q, and %d are left", x, errs, left)
					}
					s.line(goOn)
					if left := c.look(goOn); left != 0 {
						t.Errorf("%v, then %s: %d are left", x, goOn, left)
					}
				}
			})
		}
	})
	if n := int(halfway.Load()); n < points/10 {
		t.Errorf("only %d of %d were interrupted half-way", n, points)
	}
}

// It is the same on a Cluster, where a step is several calls. There is no proxy before it: the
// signal comes when so many are requeued.
func interruptedOnCluster(t *testing.T, dir string) {
	nodes := servertest.Cluster(t, 3, 0)
	var addrs []string
	for _, n := range nodes.Nodes() {
		addrs = append(addrs, n.Addr())
	}
	c := cemetery{t, nodes.Client(t), message.Topic{Name: "orders", Kind: message.KindRangeMerge, Slots: 16}, 3000}
	s := shell{t, dir, "redis-cluster://" + strings.Join(addrs, ",")}
	random := sharetest.Rand(t)
	stopped := 0
	for n := 0; n < night.Times(4, 12) || n < 100 && stopped == 0; n++ {
		c.fill()
		cmd, errs := s.command(filepath.Join(dir, "rmq"), "dead", "requeue", "orders", "--yes", "--rate", "10000/s")
		least := random.IntN(c.n)
		must.Do(t, cmd.Start())
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for struck := false; !struck; {
			pipe, dead := c.rdb.Pipeline(), int64(0)
			for slot := range 16 {
				pipe.ZCard(ctx, protocol.KeysOf("orders", slot).Dead)
			}
			cards, err := pipe.Exec(ctx)
			must.Do(t, err)
			for _, card := range cards {
				dead += card.(*redis.IntCmd).Val()
			}
			if struck = int(dead) <= least; struck {
				_ = cmd.Process.Signal(syscall.SIGINT) // it may have ended
			}
		}
		<-ended
		left := c.look(errs.String())
		_, goOn, found := strings.Cut(errs.String(), "; go on with: ")
		if code := cmd.ProcessState.ExitCode(); code == 0 && left == 0 {
			continue // it came too late
		} else if far := fmt.Sprintf("; %s of %s requeued; ", words.Grouped(c.n-left), words.Grouped(c.n)); code != 130 || !found || !strings.Contains(errs.String(), far) {
			t.Errorf("at %d: %v, %q, %d are left", least, cmd.ProcessState, errs, left)
		}
		stopped++
		s.line(strings.TrimSpace(goOn))
		if left := c.look(goOn); left != 0 {
			t.Errorf("at %d, then %s: %d are left", least, goOn, left)
		}
	}
	if stopped == 0 {
		t.Error("none was interrupted")
	}
}

// When the network breaks it also says how far it got, and how to go on.
func brokenRequeue(t *testing.T, dir string) {
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	c := cemetery{t, server.Client(t), message.Topic{Name: "orders", Kind: message.KindRangeMerge, Slots: 16}, 3000}
	c.fill()
	s := shell{t, dir, "redis://" + proxy.Addr()}
	cmd, errs := s.command(filepath.Join(dir, "rmq"), "dead", "requeue", "orders", "--yes", "--rate", "20000/s")
	var calls atomic.Int64
	proxy.OnRequest(func(b []byte) bool {
		if bytes.Contains(b, []byte("order ")) && calls.Add(1) == 5 { // the first step is done
			proxy.Cut()
		}
		return true
	})
	_ = cmd.Run() // it is to fail
	left := c.look("after the network broke")
	_, goOn, found := strings.Cut(errs.String(), "; go on with: ")
	if cmd.ProcessState.ExitCode() != 1 || !found || left == 0 || left == c.n {
		t.Errorf("%v, %q, %d are left", cmd.ProcessState, errs, left)
	}
	shell{t, dir, "redis://" + server.Addr()}.line(strings.TrimSpace(goOn))
	if left := c.look(goOn); left != 0 {
		t.Errorf("%s: %d are left", goOn, left)
	}
}

// A second signal ends a command that cannot stop, since Redis does not answer.
func secondSignal(t *testing.T, dir string) {
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	c := cemetery{t, server.Client(t), message.Topic{Name: "orders", Kind: message.KindRangeMerge, Slots: 16}, 3000}
	c.fill()
	s := shell{t, dir, "redis://" + proxy.Addr()}
	cmd, errs := s.command(filepath.Join(s.dir, "rmq"), "dead", "requeue", "orders", "--yes")
	frozen := make(chan struct{})
	var count atomic.Int64
	proxy.OnRequest(func(b []byte) bool {
		// The first asks about the latest that died, the second is the first step.
		if bytes.Contains(b, []byte("order ")) && count.Add(1) == 2 {
			proxy.Freeze()
			close(frozen)
		}
		return true
	})
	must.Do(t, cmd.Start())
	await.Signal(t, "the first step", frozen)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			_ = cmd.Process.Signal(syscall.SIGINT) // it may have ended
			continue
		case <-ended:
		}
		break
	}
	if status := cmd.ProcessState.Sys().(syscall.WaitStatus); !status.Signaled() || status.Signal() != syscall.SIGINT {
		t.Errorf("%v: %s", cmd.ProcessState, errs)
	}
	proxy.OnRequest(nil)
	proxy.Thaw()
	c.look("after the second signal")
}

// The others that take long stop in the same way.
func interruptedDeleteAndExport(t *testing.T, dir string) {
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	c := cemetery{t, server.Client(t), message.Topic{Name: "orders", Kind: message.KindRangeMerge, Slots: 16}, 3000}
	s := shell{t, dir, "redis://" + server.Addr()}
	random := sharetest.Rand(t)
	out := t.TempDir()

	remove := []string{"dead", "delete", "orders", "--yes"}
	c.fill()
	_, _, requests := s.do(proxy, strike{args: remove})
	for range night.Times(4, 15) {
		c.fill()
		x := strike{args: remove, signal: syscall.SIGINT, request: 1 + random.IntN(requests)}
		state, errs, _ := s.do(proxy, x)
		left := len(members(t, c.rdb, c.topic, inDead))
		if _, goOn, found := strings.Cut(errs, "; go on with: "); found {
			if far := fmt.Sprintf("; %s of %s deleted; ", words.Grouped(c.n-left), words.Grouped(c.n)); state.ExitCode() != 130 || !strings.Contains(errs, far) {
				t.Errorf("%v: %v, %q, %d left", x, state, errs, left)
			}
			s.line(strings.TrimSpace(goOn))
			left = len(members(t, c.rdb, c.topic, inDead))
		} else if state.ExitCode() == 130 {
			continue // it had not begun
		}
		if left != 0 || len(members(t, c.rdb, c.topic, inStore)) != c.n/10 {
			t.Errorf("%v: %d left", x, left)
		}
	}

	c.fill()
	file := filepath.Join(out, "all.jsonl")
	export := []string{"dead", "export", "orders"}
	_, _, requests = s.do(proxy, strike{args: append(export, "--out", file)})
	whole, err := os.ReadFile(file)
	must.Do(t, err)
	for n := range night.Times(4, 15) {
		// To a file: all or nothing.
		file := filepath.Join(out, fmt.Sprint(n))
		x := strike{args: append(export, "--out", file), signal: syscall.SIGINT, request: 1 + random.IntN(requests)}
		state, errs, _ := s.do(proxy, x)
		if written, err := os.ReadFile(file); state.ExitCode() == 0 && !bytes.Equal(written, whole) || state.ExitCode() != 0 && !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%v: %v, %q, %d bytes, %v", x, state, errs, len(written), err)
		}
		// To stdout, and then the rest.
		x.args = export
		x.out, err = os.Create(file + ".out")
		must.Do(t, err)
		state, errs, _ = s.do(proxy, x)
		must.Do(t, x.out.Close())
		if _, goOn, found := strings.Cut(errs, "; go on with: "); found {
			s.line(strings.TrimSpace(goOn) + " >>" + file + ".out")
		} else if state.ExitCode() == 130 {
			s.line("rmq " + strings.Join(export, " ") + " >>" + file + ".out")
		}
		if written, err := os.ReadFile(file + ".out"); err != nil || !bytes.Equal(written, whole) {
			t.Errorf("%v: %d bytes of %d, %v, %s", x, len(written), len(whole), err, errs)
		}
	}
	if left, err := filepath.Glob(filepath.Join(out, "*.part")); err != nil || len(left) > 0 {
		t.Errorf("%q, %v", left, err)
	}
}
