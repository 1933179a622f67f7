package servertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	startPatience = time.Minute          // far above what a loaded machine needs
	stopPatience  = time.Minute          // then SIGKILL
	pollInterval  = 5 * time.Millisecond // a Redis is ready after 7 to 20 ms
)

// process is one child: a server which the test starts, signals and waits for.
// The same process may be started again after it ended.
type process struct {
	path string   // the binary
	argv []string // with argv[0], which need not be the name of the binary
	dir  string   // working directory; out.log in it collects stdout and stderr

	nobody bool // it is not started as root

	mu       sync.Mutex
	cmd      *exec.Cmd
	logStart int64         // where the log of the current run begins
	asked    bool          // its end was asked for
	done     chan struct{} // closed once the child was waited for
	exit     error         // how it ended; read only after done
}

func (p *process) logPath() string { return filepath.Join(p.dir, "out.log") }

// start starts the child, which dies with this process.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	log, err := os.OpenFile(p.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close() // the child holds its own descriptor
	if st, err := log.Stat(); err == nil {
		p.logStart = st.Size()
	}
	cmd := &exec.Cmd{
		Path: p.path, Args: p.argv, Dir: p.dir,
		Stdout: log, Stderr: log,
		SysProcAttr: diesWithParent(),
	}
	if p.nobody {
		asNobody(cmd.SysProcAttr)
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan struct{})
	p.cmd, p.done, p.asked = cmd, done, false
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		p.exit = err
		p.mu.Unlock()
		close(done)
	}()
	return nil
}

// ready polls probe until it answers nil; a child that exits meanwhile ends the
// wait at once, with its log as the error.
func (p *process) ready(probe func() error) error {
	poll := time.NewTicker(pollInterval)
	defer poll.Stop()
	patience := time.NewTimer(startPatience)
	defer patience.Stop()
	for {
		last := probe()
		if last == nil {
			return nil
		}
		select {
		case <-p.done:
			return fmt.Errorf("%s exited: %w\n%s", p.argv[0], p.exitError(), p.runLog())
		case <-patience.C:
			return fmt.Errorf("%s not ready after %v: %w\n%s", p.argv[0], startPatience, last, p.runLog())
		case <-poll.C:
		}
	}
}

// signal sends sig to a running child; a child that has ended ignores it.
func (p *process) signal(sig os.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd != nil {
		_ = p.cmd.Process.Signal(sig) // the only error is that it has ended
	}
}

// pause stops the child and then its children, and returns when none of their threads runs any more.
func (p *process) pause() {
	p.signal(syscall.SIGSTOP)
	awaitStopped(p.pid())
	for _, pid := range p.children() {
		_ = syscall.Kill(pid, syscall.SIGSTOP) // the only error is that it has ended
		awaitStopped(pid)
	}
}

func (p *process) resume() {
	for _, pid := range p.children() {
		_ = syscall.Kill(pid, syscall.SIGCONT)
	}
	p.signal(syscall.SIGCONT)
}

// children are the processes that serve the clients of a database. Those of other servers are left
// alone: they save.
func (p *process) children() []int {
	if !p.nobody || p.cmd == nil {
		return nil
	}
	return children(p.pid())
}

func awaitStopped(pid int) {
	for deadline := time.Now().Add(stopPatience); !stopped(pid) && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

// end sends sig and returns when the child is gone.
func (p *process) end(sig os.Signal) {
	p.mu.Lock()
	if p.cmd == nil {
		p.mu.Unlock()
		return
	}
	if !p.exited() {
		p.asked = true
	}
	done := p.done
	p.mu.Unlock()

	var orphans []int
	if sig == syscall.SIGKILL && p.nobody {
		p.pause() // so that no child comes, and none acts on the death of the first
		orphans = p.children()
	}
	p.signal(sig)
	for _, pid := range orphans {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	defer awaitEnded(orphans)
	p.signal(syscall.SIGCONT) // a stopped child handles only SIGKILL
	patience := time.NewTimer(stopPatience)
	defer patience.Stop()
	select {
	case <-done:
	case <-patience.C:
		p.signal(syscall.SIGKILL)
		<-done
	}
}

// awaitEnded returns when processes that are not ours to wait for have ended.
func awaitEnded(pids []int) {
	for _, pid := range pids {
		for deadline := time.Now().Add(stopPatience); alive(pid) && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}
}

// exited reports whether no child runs now.
func (p *process) exited() bool {
	if p.cmd == nil {
		return true
	}
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// crashed reports how the child ended if it was not asked to, otherwise nil.
func (p *process) crashed() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil || p.asked || !p.exited() {
		return nil
	}
	if p.exit == nil {
		return errors.New("exit status 0")
	}
	return p.exit
}

func (p *process) exitError() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exit == nil {
		return errors.New("exit status 0")
	}
	return p.exit
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// log is what the child has written since it was first started.
func (p *process) log() string {
	b, _ := os.ReadFile(p.logPath())
	return string(b)
}

// runLog is the part of the log that belongs to the current run.
func (p *process) runLog() string {
	all := p.log()
	return all[min(int(p.logStart), len(all)):]
}

// portTaken reports whether the child gave up because another process had its port:
// between choosing a free port and using it there is always a gap.
func (p *process) portTaken() bool {
	return strings.Contains(p.runLog(), "Address already in use")
}
