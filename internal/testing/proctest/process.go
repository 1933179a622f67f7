package proctest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

const jobVariable = "RMQ_TEST_PROCESS"

// Child reports whether this process was started by [Dir.Start], and if so,
// reads its job. Call it in TestMain, before anything else.
func Child(job any) bool {
	text := os.Getenv(jobVariable)
	if text == "" {
		return false
	}
	if err := json.Unmarshal([]byte(text), job); err != nil {
		panic(fmt.Sprintf("%s: %v", jobVariable, err))
	}
	return true
}

// AwaitGo lets a worker that is all set wait for [Process.Go], and returns
// false if the test went away instead. From then on the worker ends when the
// test does.
func AwaitGo() bool {
	if _, err := os.Stdin.Read(make([]byte, 1)); err != nil {
		return false
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(1) // there is no reader of the log
	}()
	return true
}

// Process is a worker.
type Process struct {
	Name string

	dir   *Dir
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{}
	err   error // how it ended
	asked bool  // by the test
}

// Start starts a process that finds its job with [Child], and kills it with the
// test. It waits for nothing.
func (d *Dir) Start(name string, job any) *Process {
	d.t.Helper()
	if os.Getenv(jobVariable) != "" { // or every child would run the tests and start children without end
		d.t.Fatal("a worker runs the tests: TestMain does not call proctest.Child")
	}
	text, err := json.Marshal(job)
	if err != nil {
		d.t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		d.t.Fatal(err)
	}
	return d.Run(name, &exec.Cmd{
		Path: self, Args: []string{self, "-test.run=^$"}, // no test, should TestMain not ask Child
		// The race detector would let each process sleep for a second before it ends.
		Env: append(os.Environ(), jobVariable+"="+string(text), "GORACE=atexit_sleep_ms=0 "+os.Getenv("GORACE")),
	})
}

// Run starts a program that writes its log as those of [Log] are, and kills it with the test.
func (d *Dir) Run(name string, cmd *exec.Cmd) *Process {
	d.t.Helper()
	errors, err := os.OpenFile(filepath.Join(d.Path, name+".err"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644) // one of this name may have been before
	if err != nil {
		d.t.Fatal(err)
	}
	defer errors.Close() // the child holds its own descriptor
	cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = errors, errors, diesWithParent()
	p := &Process{Name: name, dir: d, cmd: cmd, ended: make(chan struct{})}
	if p.stdin, err = cmd.StdinPipe(); err != nil {
		d.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		p.err = cmd.Wait()
		close(p.ended)
	}()
	d.processes = append(d.processes, p)
	d.t.Cleanup(p.cleanUp)
	return p
}

// Go lets a worker go on that waits in [AwaitGo].
func (p *Process) Go() {
	if _, err := p.stdin.Write([]byte("\n")); err != nil {
		p.dir.t.Errorf("%s does not wait any more: %v", p.Name, err)
	}
}

// Kill kills the process without warning and returns when it is gone.
func (p *Process) Kill() {
	p.asked = true
	p.dir.log.Write(Event{Kind: Kill, Note: p.Name})
	p.signal(syscall.SIGKILL)
	<-p.ended
}

// Freeze stops the process, as a long pause of its machine would.
func (p *Process) Freeze() {
	p.signal(syscall.SIGSTOP)
	p.dir.log.Write(Event{Kind: Freeze, Note: p.Name})
}

// Thaw lets a frozen process go on.
func (p *Process) Thaw() {
	p.dir.log.Write(Event{Kind: Thaw, Note: p.Name})
	p.signal(syscall.SIGCONT)
}

// Term asks the process to stop. It waits for nothing.
func (p *Process) Term() {
	p.asked = true
	p.dir.log.Write(Event{Kind: Term, Note: p.Name})
	p.signal(syscall.SIGTERM)
}

// Note logs an event that the test has brought about, or is about to: it concerns
// the worker, or everybody if that is empty.
func (d *Dir) Note(kind Kind, worker string) { d.log.Write(Event{Kind: kind, Note: worker}) }

// Gone reports whether the process has ended, and how.
func (p *Process) Gone() (bool, error) {
	select {
	case <-p.ended:
		return true, p.err
	default:
		return false, nil
	}
}

func (p *Process) signal(s os.Signal) { _ = p.cmd.Process.Signal(s) } // the only error is that it has ended

// cleanUp ends the process and reports what the test may not have seen.
func (p *Process) cleanUp() {
	t := p.dir.t
	gone, err := p.Gone()
	if gone && !p.asked {
		t.Errorf("%s ended by itself: %v", p.Name, err)
	}
	p.signal(syscall.SIGKILL)
	<-p.ended
	p.stdin.Close()
	said, _ := os.ReadFile(filepath.Join(p.dir.Path, p.Name+".err"))
	for _, word := range []string{"DATA RACE", "panic:", "fatal error:"} {
		if bytes.Contains(said, []byte(word)) {
			t.Errorf("%s: %s", p.Name, word)
		}
	}
	if t.Failed() && len(said) > 0 {
		const most = 6000
		t.Logf("%s said:\n%s", p.Name, said[max(0, len(said)-most):])
	}
}

// New makes a directory for processes and their logs.
func New(t testing.TB) *Dir {
	t.Helper()
	d := &Dir{
		Path: t.TempDir(), Handled: map[string]int{}, By: map[string]int{}, Count: map[Kind]int{},
		t: t, tails: map[string]*tail{}, open: map[place]Event{}, last: map[slotName]Event{}, seen: map[string]map[Kind]bool{},
	}
	log, err := OpenLog(d.Path, "test")
	if err != nil {
		t.Fatal(err)
	}
	d.log = log
	t.Cleanup(func() { log.file.Close() })
	return d
}
