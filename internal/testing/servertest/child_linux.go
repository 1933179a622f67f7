package servertest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// diesWithParent makes the kernel kill the child when the test process ends, even
// by a panic, a test timeout or SIGKILL.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}

// nobody is the user that servers run as which refuse to run as root.
const nobody = 65534

// asNobody starts a child of root as somebody else.
func asNobody(attr *syscall.SysProcAttr) {
	if os.Getuid() == 0 {
		attr.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
}

// giveToNobody makes a file of root somebody else's.
func giveToNobody(name string) error {
	if os.Getuid() != 0 {
		return nil
	}
	return os.Lchown(name, nobody, nobody)
}

// children are the processes that a child has started.
func children(pid int) []int {
	var found []int
	all, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is good
	for _, name := range all {
		stat, err := os.ReadFile(name)
		if err != nil {
			continue // it has ended
		}
		fields := bytes.Fields(stat[max(0, bytes.LastIndexByte(stat, ')')):]) // ) state parent ...
		if len(fields) > 2 && string(fields[2]) == strconv.Itoa(pid) {
			if id, err := strconv.Atoi(filepath.Base(filepath.Dir(name))); err == nil {
				found = append(found, id)
			}
		}
	}
	return found
}

// alive reports whether a process has not ended, waited for or not.
func alive(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !bytes.HasPrefix(stat[max(0, bytes.LastIndexByte(stat, ')')):], []byte(") Z"))
}

// cpuOf is the processor time of a process, and of its children that have ended.
func cpuOf(pid int) time.Duration {
	const tick = 10 * time.Millisecond // on every Linux that Go runs on
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0 // it has ended
	}
	fields := bytes.Fields(stat[max(0, bytes.LastIndexByte(stat, ')')):]) // ) state parent ...
	var sum time.Duration
	for i := 12; i < 16 && i < len(fields); i++ { // of its own in user mode and in the kernel, and the children's
		if n, err := strconv.Atoi(string(fields[i])); err == nil {
			sum += time.Duration(n) * tick
		}
	}
	return sum
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
