// Package hash computes the slot of a basis. It is a package of its own so that programs
// that only send need nothing of the sharing of slots.
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
