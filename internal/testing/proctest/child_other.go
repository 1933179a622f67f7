//go:build !linux

package proctest

import "syscall"

// diesWithParent can promise nothing here; a child whose standard input ends,
// ends by itself (Child).
func diesWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{} }
