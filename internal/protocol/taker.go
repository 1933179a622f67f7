package protocol

import (
	"encoding/hex"
	"strings"
)

// TakerBits are random, and make the id of a taker one that is never used again.
type TakerBits [16]byte

// TakerID returns the id under which one batch is held that was taken by package poll: the name of the
// process, as people know it, and the bits.
func TakerID(name string, bits TakerBits) string { return name + "-" + hex.EncodeToString(bits[:]) }

// TakerName returns the name in an id that TakerID has made, and whether it looks like one. Those of workers
// have fewer digits at their end.
func TakerName(id string) (name string, taker bool) {
	at := len(id) - 2*len(TakerBits{})
	if at < 2 || id[at-1] != '-' || strings.Trim(id[at:], "0123456789abcdef") != "" {
		return id, false
	}
	return id[:at-1], true
}

// HolderName is who holds a batch, as people read it: of one who takes batches by package poll the name
// of the process, and that it is one.
func HolderName(id string) string {
	if name, taker := TakerName(id); taker {
		return name + " (taker)"
	}
	return id
}
