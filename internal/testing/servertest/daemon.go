package servertest

import (
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// daemon is a server as a test handles it, whatever it serves.
type daemon struct {
	Dir string // where it runs and keeps its data; empty for a server of the user's own

	addr   string
	proc   *process // nil for a server of the user's own
	shared bool
	nobody bool // it refuses to run as root

	saving syscall.Signal // what lets it save and end; SIGTERM if 0
}

// startOn starts the server on a free port, with the argv made for that port, and
// on another one if it is snatched. It returns when probe answers nil.
func (d *daemon) startOn(path string, argv func(port int) ([]string, error), probe func() error) error {
	const tries = 3
	for try := 1; ; try++ {
		port, err := freePort()
		if err != nil {
			return err
		}
		args, err := argv(port)
		if err != nil {
			return err
		}
		d.addr = fmt.Sprintf("127.0.0.1:%d", port)
		d.proc = &process{path: path, argv: args, dir: d.Dir, nobody: d.nobody}
		if err = d.launch(probe); err == nil {
			return nil
		}
		d.proc.end(syscall.SIGKILL)
		if try == tries || !d.proc.portTaken() {
			return err
		}
	}
}

func (d *daemon) launch(probe func() error) error {
	if err := d.proc.start(); err != nil {
		return err
	}
	return d.proc.ready(probe)
}

// endWith ends the server with the test, which fails if it ended by itself before.
func (d *daemon) endWith(t testing.TB) {
	t.Cleanup(func() {
		if err := d.proc.crashed(); err != nil {
			t.Errorf("%s ended by itself: %v\n%s", d.proc.argv[0], err, d.Log())
		}
		d.proc.end(syscall.SIGKILL) // nothing to save: the directory goes too
	})
}

// Addr is the server's host:port, the same after a Restart.
func (d *daemon) Addr() string { return d.addr }

// Kill ends the server with SIGKILL and waits until it is gone.
func (d *daemon) Kill() { d.private("Kill").end(syscall.SIGKILL) }

// Stop ends the server in a way that lets it save, and waits until it is gone.
func (d *daemon) Stop() { d.private("Stop").end(d.stopSignal()) }

func (d *daemon) stopSignal() syscall.Signal {
	if d.saving != 0 {
		return d.saving
	}
	return syscall.SIGTERM
}

// Pause stops the process without closing anything: clients hang.
func (d *daemon) Pause() { d.private("Pause").pause() }

// Resume lets a paused server go on.
func (d *daemon) Resume() { d.private("Resume").resume() }

// restart starts the server again on its port and in its directory, stopping it
// first if it still runs, and returns when probe answers nil.
func (d *daemon) restart(t testing.TB, probe func() error) {
	t.Helper()
	p := d.private("Restart")
	p.end(d.stopSignal())
	// While the server was away somebody may have tried its port in search of a free
	// one; such a loan is short.
	for deadline := time.Now().Add(startPatience); ; {
		err := d.launch(probe)
		if err == nil {
			return
		}
		if !p.portTaken() || time.Now().After(deadline) {
			p.end(syscall.SIGKILL)
			t.Fatalf("restart: %v", err)
		}
		time.Sleep(10 * pollInterval)
	}
}

// Log is what the server has written so far.
func (d *daemon) Log() string {
	if d.proc == nil {
		return ""
	}
	return d.proc.log()
}

// private guards the servers which other tests use at the same time.
func (d *daemon) private(what string) *process {
	if d.shared {
		panic("servertest: " + what + " of the shared server; take a private one")
	}
	return d.proc
}

// logTails are the ends of the logs of several servers.
func logTails[S interface {
	Addr() string
	Log() string
}](servers []S) string {
	const tail = 2000
	var b strings.Builder
	for _, s := range servers {
		log := s.Log()
		fmt.Fprintf(&b, "--- %s\n%s", s.Addr(), log[max(0, len(log)-tail):])
	}
	return b.String()
}

var given struct {
	sync.Mutex
	ports map[int]bool
}

// freePort finds a port without a listener and gives no port twice. It stays below
// the range from which a kernel takes the near ends of connections: some servers
// leave a port of theirs unused for long, or for a restart, and want it back.
func freePort() (int, error) {
	const from, to, tries = 10_000, 32_000, 100
	given.Lock()
	defer given.Unlock()
	if given.ports == nil {
		given.ports = map[int]bool{}
	}
	var err error
	for range tries {
		port := from + rand.IntN(to-from) // at random, as other test processes search at the same time
		if given.ports[port] {
			continue
		}
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			given.ports[port] = true
			return port, l.Close()
		}
	}
	return 0, fmt.Errorf("no free port in %d tries: %w", tries, err)
}
