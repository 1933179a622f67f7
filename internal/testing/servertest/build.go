package servertest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

// built are the programs that this process of tests has built.
var built struct {
	sync.Mutex
	dir string
	of  map[string]string // package: binary
}

// Build builds a program once for all tests of a package, without the race detector, and returns its binary. [Main] removes it.
func Build(t testing.TB, pkg string) (binary string) {
	t.Helper()
	built.Lock()
	defer built.Unlock()
	if built.of[pkg] != "" {
		return built.of[pkg]
	}
	if built.dir == "" {
		dir, err := os.MkdirTemp("", "rmq-built-")
		if err != nil {
			t.Fatal(err)
		}
		built.dir, built.of = dir, map[string]string{}
	}
	binary = filepath.Join(built.dir, fmt.Sprint(len(built.of)))
	if out, err := exec.Command("go", "build", "-o", binary, pkg).CombinedOutput(); err != nil {
		t.Fatalf("go build %s: %v\n%s", pkg, err, out)
	}
	built.of[pkg] = binary
	return binary
}

func removeBuilt() error {
	built.Lock()
	defer built.Unlock()
	if built.dir == "" {
		return nil
	}
	return os.RemoveAll(built.dir)
}
