// Package protocol is what workers and senders do in Redis: a function for each script of
// package luascripts, and the names of all keys. Scripts and keys are one contract, which
// docs/PROTOCOL.md explains.
//
//   - [Scripts.TurnCmd] (turn.lua): a worker finishes its batch of a slot and takes the next
//     one. It is the lock, the fence and the counter of retries.
//   - [Scripts.Keep] (touch.lua): a worker keeps a batch that takes long.
//   - [Scripts.AddArgs] (add.lua): sends messages where a plain ZADD is not enough.
//   - [Scripts.SendArgs] (send.lua): sends messages that have more than a score.
//   - [Scripts.FirePlanCmd] (plan.lua): sends what a plan has to send now, and moves it on.
//     [Scripts.SetPlan], [Scripts.StopPlan] and [Scripts.DuePlansCmd] belong to it.
//   - [Scripts.Cancel] (cancel.lua): removes a message that waits.
//   - [Scripts.Deaths] (deaths.lua): which messages have died since the last time.
//   - [Scripts.ForgetCmd] (forget.lua): removes the notes of messages that are over. So does
//     [Scripts.SweepCmd], of those that it finds.
//   - [Scripts.Define] (define.lua): writes or reads the definitions of topics.
//   - [Scripts.MembersCmd] (members.lua): the list by which workers share the slots.
//   - [Scripts.PolicyCmd] (policy.lua): the limit that a person has set to a topic.
//   - [Scripts.Rights] (rights.lua): which commands the Redis user may run.
//
// The scripts for people, who look at slots and change what is in them, are in package
// protocol/byhand. What RMQ promises of contents, slots and retries, in numbers, is in
// protocol/limits; protocol/script calls a script by its hash.
//
// The scripts read the clock of the server they run on. They are called by their hash. A
// server that does not know a script yet gets its source once, also in the middle of a
// pipeline. They use commands of Redis 6.2 only, and of Lua only what an in-memory Redis has,
// too.
//
// This package does not decide when to take a turn or what a message is: see packages
// consumer and message.
package protocol
