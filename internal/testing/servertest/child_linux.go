package servertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// diesWithParent makes the kernel kill the child when the test process ends, even
// by a panic, a test timeout or SIGKILL.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// stopped reports whether SIGSTOP has reached every thread of a child. The kernel
// hands it to one of them, and until that one gets a processor the others run on.
func stopped(pid int) bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid)) // the pattern is good
	for _, name := range threads {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // the thread has ended
		}
		// 4711 (name, with any letters) T ...
		_, rest, ok := bytes.Cut(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(") "))
		if state := rest[:min(1, len(rest))]; ok && !bytes.ContainsAny(state, "TtZX") {
			return false
		}
	}
	return true
}
