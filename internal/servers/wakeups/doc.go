// Package wakeups is a worker's side of the topics' channels, so that no worker has to poll.
// A [Publisher] reports to other workers that a slot was left or that workers came or went,
// and asks a holder about its batch. A [Subscriber] receives that, and the wake-ups that
// producers publish.
//
// # Where a wake-up gets lost
//
//   - Its sender gives up or dies after the write and before the publication: package producer, in wake.go.
//   - Another program adds to a slot by a plain ZADD and publishes nothing.
//   - The subscription breaks. When it stands again the handler hears Missed, and looks at all slots.
//   - It comes while a turn at the slot is under way: schedule.Topic.Wake notes it, and another turn follows. For a slot that is
//     not this worker's yet it is dropped, and the first look at a slot that was gained finds the message.
//   - A Publisher loses its connection: it publishes once. The new owner of a slot that was left finds out when it looks again,
//     and it looks at a busy slot again and again; who leads, or asks a holder, does so again.
//
// All cost only time: what was announced is found by the safety look at the latest, see package lookout.
//
// # Subscriptions, watched
//
// Every node of a Cluster passes on what is published to all, so a worker subscribes at one. Wake-ups stay at their
// master, and it subscribes at each, too: passing one on costs both masters 7 µs. One that hangs breaks nothing and says
// nothing: after 2 s of silence the worker asks for a sign of life, and a second later it subscribes anew and looks at
// all slots.
//
// # Subscribed before joining
//
// A worker subscribes before it joins. Otherwise a message that comes between the first look at a slot and the
// subscription would wake no worker.
package wakeups
