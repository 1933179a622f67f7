package proctest

import "syscall"

// diesWithParent makes the kernel kill the child when the test process ends, even
// by a panic, a test timeout or SIGKILL.
func diesWithParent() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
}
