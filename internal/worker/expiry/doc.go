// Package expiry knows which messages of a batch come too late for their handler.
//
// It rarely asks for the time. It is looked at when a message's handler would be called. The fence is never smaller than the clock
// of Redis at the take, in µs. So the fence plus the time since that turn was sent is a clock that is never slow: what is in time
// by it is so. Otherwise Redis is asked, once for a batch, and the worker goes on from that answer. If Redis does not answer,
// the worker asks again and keeps the batch: handed back, it would come again at once.
//
// The package does not know when a time to live ends: see package note.
package expiry
