package main

import (
	"errors"
	"fmt"
	"os"
	osexec "os/exec"
	"syscall"
	"testing"
)

// smallDisk is a folder with room for so many bytes. Where this user may not mount one, the test
// is run once more by a process that may, in a namespace of its own, and smallDisk returns "".
func smallDisk(t *testing.T, bytes int) string {
	t.Helper()
	dir := t.TempDir()
	err := syscall.Mount("rmq-test", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=0755", bytes))
	if errors.Is(err, syscall.EPERM) && os.Getenv("RMQD_NAMESPACE") == "" {
		again := osexec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		again.Env = append(os.Environ(), "RMQD_NAMESPACE=1")
		again.SysProcAttr = &syscall.SysProcAttr{
			Cloneflags:  syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}},
		}
		if out, err := again.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return ""
	}
	if err != nil {
		t.Fatalf("mount a small disk: %v", err)
	}
	t.Cleanup(func() { must(t, syscall.Unmount(dir, syscall.MNT_DETACH)) })
	return dir
}
