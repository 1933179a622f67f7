package wire

import "github.com/slotmq/go-rmq/journal/recovery"

// Restored is what a restore has brought back, or would.
type Restored struct {
	Dry bool `json:"dry_run,omitempty"`
	recovery.Restored
}
