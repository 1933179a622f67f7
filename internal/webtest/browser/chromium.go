package browser

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// Elsewhere is a name of this machine that the browser trusts no more than any other: without TLS it says less of where a form is from
// than at 127.0.0.1.
const Elsewhere = "console.test"

// chromium is the browser of a test process. Each tab is a child of its context.
type chromium struct {
	ctx    context.Context
	stop   context.CancelFunc
	folder string // with the profile, and whatever else it writes
}

var shared struct {
	sync.Mutex
	browser *chromium
	err     error
}

// tabs is the context in which tabs are opened.
func tabs(t testing.TB) context.Context {
	t.Helper()
	path := program(t)
	shared.Lock()
	defer shared.Unlock()
	if shared.browser == nil && shared.err == nil {
		if shared.browser, shared.err = start(path); shared.err == nil {
			servertest.AtEnd(shared.browser.end)
		}
	}
	if shared.err != nil {
		t.Fatalf("start %s: %v", path, shared.err)
	}
	return shared.browser.ctx
}

// program is the browser's. The shell is Chromium without windows: it draws the same for a third of the work.
func program(t testing.TB) string {
	t.Helper()
	return servertest.Program(t, "Chromium", "apt-get install chromium-headless-shell fonts-dejavu-core", "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
}

// start starts a browser that dies with this process. All it writes goes to a folder of its own: it must find
// nothing of the user's, and leave nothing.
func start(path string) (*chromium, error) {
	folder, err := os.MkdirTemp("", "rmq-chromium-")
	if err != nil {
		return nil, err
	}
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.ExecPath(path),
		chromedp.NoSandbox, // which needs rights that a container does not give
		chromedp.Flag("user-data-dir", folder),
		chromedp.Env("HOME="+folder, "XDG_CONFIG_HOME="+folder, "XDG_CACHE_HOME="+folder, "TMPDIR="+folder),
		chromedp.Flag("lang", "en-US"),
		chromedp.Flag("disable-component-update", true), // it would ask its maker
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("disable-quic", true), // nor does it speak to anybody over UDP
		chromedp.Flag("host-resolver-rules", "MAP "+Elsewhere+" 127.0.0.1"),
	)
	allocator, free := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	c := &chromium{ctx: ctx, stop: func() { cancel(); free() }, folder: folder}
	if err := chromedp.Do(ctx); err != nil { // starts it
		c.stop()
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	return c, nil
}

// end ends the browser and its helpers, and fails if one of them lives on or its folder stays.
func (c *chromium) end() error {
	c.stop()
	deadline := time.Now().Add(Patience)
	again := time.NewTicker(pollInterval)
	defer again.Stop()
	for {
		left := c.processes()
		err := os.RemoveAll(c.folder) // fails while a helper still writes
		switch {
		case len(left) == 0 && err == nil:
			return nil
		case time.Now().After(deadline):
			return fmt.Errorf("end Chromium: processes %v are left, and its folder: %v", left, err)
		}
		<-again.C
	}
}

// processes are those of this browser: each has its folder in its environment or its arguments.
func (c *chromium) processes() []string {
	var found []string
	all, _ := filepath.Glob("/proc/[0-9]*") // the pattern is good
	for _, dir := range all {
		args, _ := os.ReadFile(dir + "/cmdline") // empty when it has ended
		env, _ := os.ReadFile(dir + "/environ")
		if strings.Contains(string(args), c.folder) || strings.Contains(string(env), "HOME="+c.folder) {
			found = append(found, filepath.Base(dir))
		}
	}
	return found
}
