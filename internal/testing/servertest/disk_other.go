//go:build !linux

package servertest

import "testing"

// NewDisk knows how to make one on Linux only.
func NewDisk(t testing.TB, _ int) *Disk {
	t.Helper()
	t.Fatal("a small disk is made on Linux only")
	return nil
}
