// Package away logs that a Redis server is away, and that it answers again: once each,
// whichever part noticed it, and however many slots are on that server.
//
// A request without an answer does not prove that, and only makes it look: it asks the server
// itself, again and again, until there is an answer. If there is none for a second, it logs
// "Redis is away", and when there is one, "Redis answers again". So neither one lost reply is
// logged, nor a server of a Cluster whose place another one takes within that second. Where
// that takes longer, the other one's answer is the return, and the line names both. A server
// that never comes back and is not replaced stays away, without another line.
//
// It logs, too, that a server has forgotten what it knew: see [Watch.Fence].
//
// It sends nothing while all requests are answered, and then one ZCARD a second at most.
package away
