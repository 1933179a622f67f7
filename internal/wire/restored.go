package wire

import "github.com/slotmq/go-rmq/journal/recovery"

// Restored is what a restore has brought back, or would.
type Restored struct {
	Dry     bool `json:"dry_run,omitempty"`
	Waiting int  `json:"waiting"`
	Dead    int  `json:"dead"`
	Twice   int  `json:"perhaps_twice"`
	There   int  `json:"there"`
	Expired int  `json:"expired"`
	Unsure  int  `json:"unsure,omitempty"`
	Unknown int  `json:"content_unknown,omitempty"`
	Late    int  `json:"programs_late,omitempty"`
}

// RestoredOf are those counts.
func RestoredOf(n recovery.Restored, dry bool) Restored {
	return Restored{dry, n.Waiting, n.Dead, n.Twice, n.There, n.Expired, n.Unsure, n.Unknown, n.Late}
}
