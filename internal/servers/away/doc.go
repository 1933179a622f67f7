// Package away logs that a Redis server is away, and that it answers again: once each,
// whichever part noticed it, and however many slots are on that server.
//
// A request without an answer is no proof. It only makes the package ask the server itself,
// again and again, until there is an answer. If there is none for a second, it logs "Redis is
// away", and when there is one, "Redis answers again". So a single lost reply is not logged,
// nor is a server of a Cluster that another one replaces within that second. If that takes
// longer, the answer of the new server counts as the return, and the line names both. A
// server that never comes back and is not replaced stays away, without another line.
//
// It logs, too, that a server has forgotten what it knew: see [Watch.Fence].
//
// It sends nothing while all requests are answered, and then one ZCARD a second at most.
//
// # A server that is away is looked at
//
// When Redis goes, turns of all slots, sends, looks and lists fail, each at its own time and again and again. So none of
// them logs that. Each passes an error that is not an answer of Redis on to internal/servers/away, which asks the server itself
// until it answers. It logs "Redis is away" after a second, and "Redis answers again" at the same level: an alert on the
// first line needs the second. A producer and a consumer of one client share it by their logger, whose core carries it.
// On a Cluster the question goes to the master that has the key by then: so when a master never comes back, its
// successor answers "again". It asks by a ZCARD of a store, which every user may call, and which a server answers only
// if it can also do the rest.
package away
