//go:build !linux

package servertest

import "syscall"

// diesWithParent can promise nothing here: without the kernel's help a child
// outlives a test process that is killed. Cleanups and Main still stop it.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// stopped can only hope here.
func stopped(int) bool { return true }
