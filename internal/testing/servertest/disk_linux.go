package servertest

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
)

// inNamespace is set for a test that is run once more, see NewDisk.
const inNamespace = "RMQ_TEST_NAMESPACE"

// NewDisk mounts a disk in memory, with room for so many bytes. Where this user may not mount one, the test
// is run once more by a process that may, in a namespace of its own, and NewDisk returns nil: all is done.
func NewDisk(t testing.TB, bytes int) *Disk {
	t.Helper()
	dir, err := os.MkdirTemp("", "rmq-disk-") // not t.TempDir, which only the user of the test may enter
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	err = syscall.Mount("rmq-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", bytes))
	if errors.Is(err, syscall.EPERM) && os.Getenv(inNamespace) == "" {
		runInNamespace(t)
		return nil
	}
	if err != nil {
		t.Fatalf("mount a small disk: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return &Disk{Path: dir}
}

// runInNamespace runs this test in a process that may mount. It is not root there: databases refuse to run
// as root, and the namespace has no other user.
func runInNamespace(t testing.TB) {
	t.Helper()
	const user, mayMount = 1000, 21 // CAP_SYS_ADMIN
	again := exec.Command(os.Args[0], "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	again.Env = append(os.Environ(), inNamespace+"=1")
	again.SysProcAttr = &syscall.SysProcAttr{
		Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getuid(), Size: 1}},
		GidMappings: []syscall.SysProcIDMap{{ContainerID: user, HostID: os.Getgid(), Size: 1}},
		AmbientCaps: []uintptr{mayMount},
		Pdeathsig:   syscall.SIGKILL,
	}
	if out, err := again.CombinedOutput(); err != nil {
		t.Fatalf("in a namespace: %v\n%s", err, out)
	}
}
