package commands

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/message"
)

// terminal is one of that width: what is written to it can be read from screen.
func terminal(t *testing.T, width uint16) (written, screen *os.File) {
	t.Helper()
	screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	must.Do(t, err)
	t.Cleanup(func() { screen.Close() })
	fd := int(screen.Fd())
	must.Do(t, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	must.Do(t, err)
	written, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	must.Do(t, err)
	t.Cleanup(func() { written.Close() })
	must.Do(t, unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: width}))
	return written, screen
}

// onTerminal is what a call shows there.
func onTerminal(t *testing.T, width uint16, args ...string) string {
	t.Helper()
	tty, screen := terminal(t, width)
	shown := make(chan string)
	go func() {
		all, _ := io.ReadAll(screen) // which ends with an error when the other side is closed
		shown <- string(all)
	}()
	if code := program.Run(ctx, args, strings.NewReader(""), tty, io.Discard); code != 0 {
		t.Errorf("rmq %q: %d", args, code)
	}
	must.Do(t, tty.Close())
	return strings.ReplaceAll(<-shown, "\r\n", "\n")
}

// Only a terminal has colours, and its width is used.
func TestOnTerminal(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	url := "redis://" + server.Addr()
	long := strings.Repeat("x", 300)
	send(t, server.Client(t), message.Topic{Name: "orders", Kind: message.KindPriority, Slots: 1}, message.Priority{Content: long, Priority: 17})
	const title = "SLOT  WHEN         ATTEMPT  CONTENT"
	for _, c := range []struct {
		width uint16
		want  string
	}{{0, strings.Repeat("x", 51) + "…"}, {60, strings.Repeat("x", 31) + "…"}, {200, strings.Repeat("x", 171) + "…"}} {
		out := onTerminal(t, c.width, "--redis", url, "peek", "orders")
		if !strings.HasPrefix(out, "\x1b[2mSLOT\x1b[0m  ") || !strings.HasSuffix(out, " "+c.want+"\n") {
			t.Errorf("%d columns: %q", c.width, out)
		}
	}
	if out := onTerminal(t, 200, "--redis", url, "peek", "orders", "--no-color", "--wide"); !strings.HasPrefix(out, title+"\n") || !strings.Contains(out, long) {
		t.Errorf("%q", out)
	}
	if out := call("--redis", url, "peek", "orders").out; !strings.HasPrefix(out, title+"\n") || strings.Contains(out, "\x1b") {
		t.Errorf("%q", out)
	}
}
