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
// The scripts read the clock of the server they run on. They are called by
// their hash; where a server does not know one yet, it is sent once in full,
// also in the middle of a pipeline. They use commands of Redis 6.2 only, and
// of Lua only what an in-memory Redis offers too.
//
// This package does not decide when to take a turn or what a message is: see
// packages consumer and message.
package luascripts
