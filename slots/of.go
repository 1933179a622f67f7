package slots

import (
	"unsafe"

	"github.com/klauspost/crc32"
)

// Of returns the slot of a basis among n slots: its IEEE CRC-32 modulo n. n is
// a power of two.
func Of(basis string, n int) int {
	// The bytes are only read, so the string need not be copied.
	b := unsafe.Slice(unsafe.StringData(basis), len(basis))
	return int(crc32.ChecksumIEEE(b) & uint32(n-1))
}
