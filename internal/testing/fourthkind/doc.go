// Package fourthkind adds a fourth kind to a copy of the module, Latest, and sends it through every door: middleware,
// listeners, topics of the dead, typed topics, the outbox of the journal, and messages as JSON. The kind is a few changes
// of five files, which say what it takes; where something more asked for kinds, it would be passed over in silence,
// and the doors would show it.
//
// It does not know what a kind may mean: see package message.
package fourthkind
