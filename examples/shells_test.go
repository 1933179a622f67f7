package examples_test

import (
	"bufio"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
)

// twoShells does what docs/REFERENCE.md proposes: several workers on one Redis, of
// which one is stopped, and another one killed.
func twoShells(t *testing.T, program, url string, args ...string) {
	args = append(args, "-redis", url)
	all := record{changed: make(chan struct{}, 1), by: map[string][]string{}, slots: map[string]string{}, count: map[string]int{}}
	start := func(name, slots string, more ...string) *shell {
		sh := open(t, &all, name, program, slices.Concat([]string{"-name", name, "-take", "10ms"}, more, args)...)
		all.waitFor(t, name+" to have its slots", func() bool { return all.slots[name] == slots })
		return sh
	}
	send := func() {
		succeeds(t, []string{`(?m)^sent 300 jobs$`}, program, append([]string{"-send", "300"}, args...)...)
	}

	a, b := start("a", "16"), start("b", "8")
	send()
	all.waitFor(t, "b to work", func() bool { return all.count["b"] > 20 })
	b.ends(t, syscall.SIGTERM)
	all.waitFor(t, "a to go on", func() bool { return len(all.by) == 300 })
	for job, by := range all.by {
		if len(by) > 1 {
			t.Errorf("%s was handled by %q", job, by)
		}
	}

	c := start("c", "8", "-lease", "1s") // it is killed
	send()
	all.waitFor(t, "c to work", func() bool { return all.count["c"] > 20 })
	c.ends(t, syscall.SIGKILL)
	// What c had in hand comes again; it may have done some of that.
	all.waitFor(t, "a to take over", func() bool { return len(all.by) == 600 })
	a.ends(t, syscall.SIGTERM)
	succeeds(t, nil, program, append([]string{"-clean"}, args...)...)
}

// record is what the workers of all shells have printed.
type record struct {
	changed chan struct{}

	mu    sync.Mutex
	slots map[string]string   // how many each worker has
	by    map[string][]string // the workers that handled a job, in order
	count map[string]int      // of each worker's jobs
}

// shell is one in which a worker runs.
type shell struct {
	name  string
	cmd   *exec.Cmd
	all   *record
	lines []string
	read  chan struct{} // closed when everything was read
}

var (
	handled = regexp.MustCompile(`^[\d:.]+  (job \S+): slot \d+`)
	sharing = regexp.MustCompile(`slots were shared out .*"slots": (\d+)`)
)

func open(t *testing.T, all *record, name, program string, args ...string) *shell {
	t.Helper()
	sh := &shell{name: name, cmd: exec.Command(program, args...), all: all, read: make(chan struct{})}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	sh.cmd.Stdout, sh.cmd.Stderr = w, w
	if err := sh.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	w.Close()
	go func() {
		defer close(sh.read)
		for s := bufio.NewScanner(r); s.Scan(); {
			sh.line(s.Text())
		}
	}()
	t.Cleanup(func() {
		_ = sh.cmd.Process.Kill()
		<-sh.read
		r.Close()
		if t.Failed() {
			t.Logf("%q\n%s", sh.cmd.Args, strings.Join(sh.lines, "\n"))
		}
	})
	return sh
}

func (sh *shell) line(text string) {
	sh.lines = append(sh.lines, text)
	all := sh.all
	all.mu.Lock()
	defer all.mu.Unlock()
	if m := sharing.FindStringSubmatch(text); m != nil {
		all.slots[sh.name] = m[1]
	}
	if m := handled.FindStringSubmatch(text); m != nil {
		all.by[m[1]] = append(all.by[m[1]], sh.name)
		all.count[sh.name]++
	}
	select {
	case all.changed <- struct{}{}:
	default:
	}
}

// ends sends a signal and waits for the end. After SIGTERM it must be a good one.
func (sh *shell) ends(t *testing.T, s syscall.Signal) {
	t.Helper()
	if err := sh.cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	<-sh.read
	if err := sh.cmd.Wait(); err != nil && s != syscall.SIGKILL {
		t.Errorf("worker %s: %v", sh.name, err)
	}
}

// waitFor waits until lines have come that make the condition true.
func (r *record) waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	holds := func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return condition()
	}
	for !holds() {
		await.Signal(t, what, r.changed)
	}
}
