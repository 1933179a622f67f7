// Package message holds the words of RMQ: what a topic is, the three kinds of
// message it may take, and what is refused.
//
// A [Topic] has a name, one [Kind] and a number of slots. It takes messages of
// its kind only:
//
//   - [RangeMerge]: handled Range after the first send; equal content sent
//     meanwhile merges into it and keeps the first time.
//   - [Priority]: the larger, the earlier within its slot; equal content merges and takes the
//     last priority.
//   - [FixedTime]: never handled before At, or In after the send; equal content
//     merges and takes the last time, so sending again is rescheduling.
//
// The content is the message and also its identity: equal content in one slot
// is one message. SlotBasis decides the slot, and messages of one slot are
// handled one batch at a time in the whole cluster. The sender gives equal
// content equal SlotBasis; RMQ cannot check that.
//
// Every refusal is an [InvalidError] that names the field, the value and the
// limit, and matches [ErrInvalid].
//
// This package does no I/O and needs no other library. It does not know how
// messages are stored; package luascripts does.
package message
