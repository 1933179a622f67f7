// Package removal deletes a topic in which nothing waits any more: the keys of its slots, what is kept of it as a whole,
// and its name.
//
// Redis has no transaction over all of that, and a sender may store a message at any moment. So the order is: a look at
// all slots; each slot, in one step, and only if nothing is there; then the name and the definition; then a last look
// at all slots. If a sender that knew the topic has stored anything since, the definition is put back as it was.
//
// If a program is killed before the last look, no one sees what was sent in between until the topic is defined again.
//
// It does not purge, does not see senders, and knows nothing of ZooKeeper.
package removal
