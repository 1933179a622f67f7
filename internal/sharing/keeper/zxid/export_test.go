package zxid

const OpSetWatches = opSetWatches

// Note and Known are what the client has heard of.
func (s *Seen) Note(zxid int64) { s.note(zxid) }
func (s *Seen) Known() int64    { return s.known() }
