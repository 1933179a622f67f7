// Package slots decides which slot a message belongs to.
//
// [Of] is part of the stored format: every producer in every language must
// compute the same slot for the same basis, so its vectors are pinned by
// tests.
//
// [Share] shares the slots out among workers that know each other's names.
//
// This package does no I/O. It does not find out who the workers are, and its
// answer gives nobody a right to a slot: see packages consumer and luascripts.
package slots
