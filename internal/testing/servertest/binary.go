package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"testing"
)

// Required reports whether a test whose server is missing fails. It is skipped otherwise.
func Required() bool {
	return os.Getenv("RMQ_REQUIRE_SERVERS") == "1" || os.Getenv("CI") == "true"
}

// Missing ends a test that needs something this machine does not have. Where
// servers are required, a run that skips must not look like a run that passes.
func Missing(t testing.TB, what, install string) {
	t.Helper()
	msg := fmt.Sprintf("NEEDS %s, which is not installed here.\n\tInstall it:  %s", what, install)
	if Required() {
		t.Fatal(msg)
	}
	t.Skip(msg)
}

// Program finds a program that tests need, by the first of its names on the PATH.
// Without it the test ends as one whose server is missing.
func Program(t testing.TB, what, install string, names ...string) (path string) {
	t.Helper()
	for _, name := range names {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	Missing(t, what, install)
	return ""
}

// redisBinary finds the server: its path, and the argv[0] to start it under.
func redisBinary(t testing.TB) (path, argv0 string) {
	t.Helper()
	const name = "redis-server"
	if path = os.Getenv("RMQ_TEST_REDIS_SERVER"); path != "" {
		if _, err := exec.LookPath(path); err != nil {
			t.Fatalf("RMQ_TEST_REDIS_SERVER: %v", err)
		}
		return path, name
	}
	if path, err := exec.LookPath(name); err == nil {
		return path, name
	}
	// Debian's redis-tools holds the server without its name: one binary decides by
	// argv[0] what it is, and /usr/bin/redis-server, a link to it, is in a package
	// which also installs a daemon.
	const rdb = "/usr/bin/redis-check-rdb"
	if _, err := exec.LookPath(rdb); err == nil {
		return rdb, name
	}
	Missing(t, "a Redis server", "apt-get install redis-tools  (or put redis-server on the PATH)")
	return "", ""
}
