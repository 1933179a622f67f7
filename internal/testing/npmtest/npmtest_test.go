package npmtest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// The packages are there, as they are named, and outside of the tree.
func TestModules(t *testing.T) {
	t.Parallel()
	modules := Modules(t)
	var want struct{ Dependencies map[string]string }
	must.Do(t, json.Unmarshal(wanted, &want))
	if len(want.Dependencies) == 0 {
		t.Fatal("package.json names nothing")
	}
	for name, version := range want.Dependencies {
		text, err := os.ReadFile(filepath.Join(modules, name, "package.json"))
		must.Do(t, err)
		var is struct{ Version string }
		if must.Do(t, json.Unmarshal(text, &is)); is.Version != version {
			t.Errorf("%s is %q, want %q", name, is.Version, version)
		}
	}
	tree, err := filepath.Abs("../../..")
	must.Do(t, err)
	if strings.HasPrefix(modules, tree+string(filepath.Separator)) {
		t.Errorf("%s is in the tree", modules)
	}
}

func TestNodeFindsPackages(t *testing.T) {
	t.Parallel()
	out, err := Node(t, "-p", `typeof require("standardwebhooks").Webhook`).Output()
	if err != nil || strings.TrimSpace(string(out)) != "function" {
		t.Errorf("%s, %v", out, err)
	}
}

// write fills a folder in two steps.
func write(dir string) error {
	return errors.Join(os.WriteFile(filepath.Join(dir, "a"), nil, 0o644), os.WriteFile(filepath.Join(dir, "b"), nil, 0o644))
}

// holds fails unless a cache has one whole folder, and nothing else.
func holds(t *testing.T, c cache) {
	t.Helper()
	all, err := filepath.Glob(filepath.Join(c.root, "*"))
	must.Do(t, err)
	files, err := filepath.Glob(filepath.Join(c.folder(), "*"))
	must.Do(t, err)
	if len(all) != 1 || len(files) != 2 {
		t.Errorf("%v with %v", all, files)
	}
}

// Processes that install at once are all content with what the fastest one has installed.
func TestInstallAtOnce(t *testing.T) {
	t.Parallel()
	const processes = 4
	var ready, done sync.WaitGroup
	ready.Add(processes)
	c := cache{root: filepath.Join(t.TempDir(), "deep", "down"), name: "x", fill: func(dir string) error {
		ready.Done()
		ready.Wait() // all of them fill a folder
		return write(dir)
	}}
	for range processes {
		done.Go(func() {
			if err := c.install(); err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	holds(t, c)
}

// What is there is taken, without npm or a network.
func TestInstalledOnce(t *testing.T) {
	t.Parallel()
	var times atomic.Int64
	c := cache{root: t.TempDir(), name: "x", fill: func(dir string) error { times.Add(1); return write(dir) }}
	must.Do(t, c.install())
	must.Do(t, c.install())
	if n := times.Load(); n != 1 {
		t.Errorf("installed %d times", n)
	}
}

func TestInstallTriesAgain(t *testing.T) {
	t.Parallel()
	failures := 0
	c := cache{root: t.TempDir(), name: "x", fill: func(dir string) error {
		if err := write(dir); failures == 0 {
			return err
		}
		failures--
		return errors.New("no network")
	}}
	failures = tries
	if err := c.install(); err == nil || !strings.Contains(err.Error(), "no network") {
		t.Errorf("err = %v", err)
	}
	if c.filled() || failures != 0 {
		t.Errorf("half of it is taken for all, or it was tried %d times only", tries-failures)
	}
	failures = tries - 1
	must.Do(t, c.install())
	holds(t, c)
}

// What a killed process has left is never taken, and removed after a day; by then nobody fills it any more.
func TestWhatKilledProcessesLeave(t *testing.T) {
	t.Parallel()
	c := cache{root: t.TempDir(), name: "x", fill: write}
	old, fresh := filepath.Join(c.root, unfilled+"1"), filepath.Join(c.root, unfilled+"2")
	for _, dir := range []string{old, fresh} {
		must.Do(t, os.Mkdir(dir, 0o755))
		must.Do(t, os.WriteFile(filepath.Join(dir, "a"), nil, 0o644))
	}
	before := time.Now().Add(-2 * leftFor)
	must.Do(t, os.Chtimes(old, before, before))
	must.Do(t, c.install())
	if _, err := os.Stat(fresh); err != nil {
		t.Errorf("a folder that may be being filled is gone: %v", err)
	}
	must.Do(t, os.RemoveAll(fresh))
	holds(t, c)
}
