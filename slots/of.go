package slots

import "github.com/slotmq/go-rmq/internal/protocol/hash"

// Of returns the slot of a basis among n slots: its IEEE CRC-32 modulo n. n is
// a power of two.
func Of(basis string, n int) int { return hash.Slot(basis, n) }
