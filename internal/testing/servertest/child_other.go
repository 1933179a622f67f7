//go:build !linux

package servertest

import (
	"syscall"
	"time"
)

// diesWithParent can promise nothing here: without the kernel's help a child
// outlives a test process that is killed. Cleanups and Main still stop it.
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }

// asNobody does nothing here, so the tests must not be run by root.
func asNobody(*syscall.SysProcAttr) {}

func giveToNobody(string) error { return nil }

// children are not known here.
func children(int) []int { return nil }

// alive can only hope here.
func alive(int) bool { return false }

// cpuOf is not known here.
func cpuOf(int) time.Duration { return 0 }

// stopped can only hope here.
func stopped(int) bool { return true }
