// Package hash tells which slot a basis belongs to. It is a package of its own so that
// who only sends needs nothing of what shares the slots out.
package hash

import (
	"unsafe"

	"github.com/klauspost/crc32"
)

// Slot returns the slot of a basis among n slots: its IEEE CRC-32 modulo n. n is
// a power of two.
func Slot(basis string, n int) int {
	// The bytes are only read, so the string need not be copied.
	b := unsafe.Slice(unsafe.StringData(basis), len(basis))
	return int(crc32.ChecksumIEEE(b) & uint32(n-1))
}
