package npmtest

import (
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

var (
	//go:embed package.json
	wanted []byte
	//go:embed package-lock.json
	locked []byte
)

// one lets one test of a process install.
var one sync.Mutex

// Modules is the folder node_modules with the packages. The first call ever installs them.
func Modules(t testing.TB) string {
	t.Helper()
	npm := servertest.Program(t, "npm", "apt-get install npm", "npm")
	caches, err := os.UserCacheDir()
	must.Do(t, err)
	hash := sha256.Sum256(append(append([]byte{}, wanted...), locked...))
	c := cache{root: filepath.Join(caches, "rmq-npm"), name: hex.EncodeToString(hash[:8]), fill: func(dir string) error { return clean(t.Context(), npm, dir) }}
	one.Lock()
	defer one.Unlock()
	if !c.filled() && !servertest.Required() {
		servertest.Missing(t, "packages of npm", "run it with RMQ_REQUIRE_SERVERS=1")
	}
	must.Do(t, c.install())
	return filepath.Join(c.folder(), "node_modules")
}

// tryFor is how long one try to install may take. It is no bound of anything: npm gives up by itself before.
const tryFor = 5 * time.Minute

// clean installs what is locked into an empty folder.
func clean(ctx context.Context, npm, dir string) error {
	ctx, cancel := context.WithTimeout(ctx, tryFor)
	defer cancel()
	for name, text := range map[string][]byte{"package.json": wanted, "package-lock.json": locked} {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	cmd := exec.CommandContext(ctx, npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier",
		"--engine-strict=false", // what Debian 12 has is older than what they ask for, and enough
		"--fetch-timeout=30000", "--fetch-retries=3", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000", "--loglevel=error")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return nil
}

// Node is a call of node, in which require finds the packages, and which asks nobody on the network.
func Node(t testing.TB, args ...string) *exec.Cmd {
	t.Helper()
	node := servertest.Program(t, "Node", "apt-get install nodejs", "node")
	modules := Modules(t) // before the patience of the call begins
	cmd := exec.CommandContext(await.Context(t), node, args...)
	cmd.Env = append(os.Environ(), "NODE_PATH="+modules, "REDOCLY_TELEMETRY=off", "REDOCLY_SUPPRESS_UPDATE_NOTICE=true")
	return cmd
}
