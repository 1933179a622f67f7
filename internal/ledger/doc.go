// Package ledger has what the tables of a journal say: the rows of sends and ends, what they come to
// for one content, and what is known of the whole. Package journal writes and reads the rows; package
// journal/recovery and the tools look at them.
//
// [Fold] is its heart: from all rows of a content, in any order, it decides whether the content is owed.
//
// It does not know SQL, and no database.
package ledger
