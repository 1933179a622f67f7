// Package byhand has the scripts by which people look at slots and change what is in them,
// with a Go function for each. Package inspector and the command rmq call them; workers and
// senders do not.
//
// They read only:
//
//   - [CountCmd] (slot.lua): what a slot holds, in numbers.
//   - [FindCmd] (find.lua): where a message is in a slot.
//   - [PageCmd] (page.lua): some contents of a sorted set, and not too many bytes.
//   - [ReadAudit] (audit.lua): a part of a slot, to be held against the [Rules]
//     ([Audit.Violations]). [ReadContents] is the same script, about contents that are given.
//
// They change something:
//
//   - [PauseCmd] (pause.lua): stops a slot, or lets it go on.
//   - [Limit] (limit.lua): limits the workers of a topic for some time.
//   - [Reschedule] (reschedule.lua): gives a message that waits another time or priority.
//   - [RestoreCmd] (restore.lua): brings back what Redis has lost.
//   - [PurgeCmd] (purge.lua): removes what waits, a page at a time.
//   - [RequeueCmd] (dead.lua): delivers dead messages again. [DeleteCmd] forgets them.
//
// A function whose name ends in Cmd makes a command, which can be sent together with others.
// The function that reads its answer stands next to it. Each answer is a picture of one
// moment of one slot.
//
// But for Limit, this package does not look at more than one slot, and does not know what a topic is: see
// package inspector. Its tests are those of package protocol: they compare what these
// scripts and those of workers do to the same slots.
package byhand
