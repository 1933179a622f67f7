// Package fleet shares the slots of topics out among their workers: by a list of members in
// Redis, or by ZooKeeper.
//
// It also checks the rights of the Redis user, and compares the topics' definitions with those
// that are stored.
//
// It decides which slots are to be this worker's, and assigns them in the schedule. That is
// no right to them: which worker may take from a slot is decided by the turn script. It also
// decides under which id the worker takes its turns, and what holds its batches meanwhile:
// see [Term]. It takes no turn itself, and handles no message.
package fleet
