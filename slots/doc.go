// Package slots decides which slot a message belongs to.
//
// [Of] is part of the stored format: every producer in every language must
// compute the same slot for the same basis, so its vectors are pinned by
// tests.
//
// Sharing the slots out among workers is not here yet.
package slots
