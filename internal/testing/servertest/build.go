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

// Build builds a program once for all tests of a package, and returns its binary. [Main] removes it. It has the race detector
// when the tests have it: what it is made of is compiled already then.
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
	args := []string{"build", "-ldflags=-s -w", "-o", binary} // without what a debugger needs: that is most of the time
	if raceDetector {
		args = append(args, "-race")
	}
	if out, err := exec.Command("go", append(args, pkg)...).CombinedOutput(); err != nil {
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
