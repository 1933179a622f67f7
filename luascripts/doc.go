// Package luascripts is what RMQ does inside Redis: the scripts, one typed
// method for each, and every key name. Scripts and keys are one contract;
// docs/PROTOCOL.md tells it in prose.
//
//   - [Scripts.Turn] (turn.lua): a worker finishes its batch of a slot and
//     takes the next one. It is the lock, the fence and the retry counter.
//   - [Scripts.Touch] (touch.lua): a worker keeps a batch that takes long.
//   - [Scripts.Cancel] (cancel.lua): removes a content that waits.
//   - [Scripts.Define] (define.lua): writes or reads a topic's definition.
//   - [Scripts.Members] (members.lua): the list by which workers share the work.
//   - [Scripts.Rights] (rights.lua): what the Redis user may do, without doing it.
//   - [Scripts.SendArgs] (send.lua): sends where a plain ZADD does not do.
//
// And for people who look, or change things by hand:
//
//   - [Scripts.Count] (slot.lua), [Scripts.Find] (find.lua): what a slot holds, and
//     where a content is.
//   - [Scripts.Audit] (audit.lua): a part of a slot, to be held against the rules
//     ([Audit.Broken]).
//   - [Scripts.PageCmd] (page.lua): some contents of a sorted set, and not too many bytes.
//   - [Scripts.Pause] (pause.lua), [Scripts.Reschedule] (reschedule.lua): stop a slot;
//     give what waits another time or priority.
//   - [Scripts.Requeue] and [Scripts.Delete] (dead.lua): what becomes of dead contents.
//
// The scripts read the clock of the server they run on. They are called by
// their hash; where a server does not know one yet, it is sent once in full,
// also in the middle of a pipeline. They use commands of Redis 6.2 only, and
// of Lua only what an in-memory Redis offers too.
//
// This package does not decide when to take a turn or what a message is: see
// packages consumer and message.
package luascripts
