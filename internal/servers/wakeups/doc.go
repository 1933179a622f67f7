// Package wakeups is a worker's side of the topics' channels, so that no worker has to poll.
// A [Publisher] reports to other workers that a slot was left or that workers came or went,
// and asks a holder about its batch. A [Subscriber] receives that, and the wake-ups that
// producers publish.
//
// A message that gets lost costs only time: what it announced is found by the safety look, see
// package lookout.
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
