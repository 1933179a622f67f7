// Package fleet shares the slots of topics out among their workers: by a list of members in
// Redis, or by ZooKeeper.
//
// It also checks the rights of the Redis user, and compares the topics' definitions with those
// that are stored.
//
// It decides which slots are to be this worker's, and assigns them in the schedule. That is
// no right to them: which worker may take from a slot is decided by the turn script. It also
// decides under which id the worker takes its turns, and what keeps its batches: see [Term].
// It takes no turn itself, and handles no message.
//
// # A newcomer waits for the dead, not they for it
//
// Batches of dead workers keep slots from the living. So the next worker stays out of the list while there are any. To
// shorten the leases of the young instead would cost more: a batch keeps the lease it was taken with, so a long handler
// of a young worker would be lost whenever Redis is silent for some seconds.
//
// # Handlers belong to a term, not to a worker
//
// When the id changes, a slot may still be handled under the old one. That slot is set aside: its handler goes on, and
// reports with the fence it knows. Another slot waits in its place until Redis says that it is free, or that the old id
// is dead.
package fleet
