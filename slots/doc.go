// Package slots decides which slot a message belongs to, and who works at which.
//
// [Of] is part of the stored format: every producer in every language must
// compute the same slot for the same basis, so its vectors are pinned by
// tests.
//
// [Share] shares the slots out among workers that know each other's names, which
// package consumer keeps in Redis.
//
// [ZooKeeper] is the other way to share them: it goes into rmq.Config.Slots. There
// a session tells which workers live, one of them assigns the slots and moves as
// few as it can, and a worker that is gone is proven dead.
//
// Of and Share do no I/O. ZooKeeper does none either until a worker starts, which
// then has a connection of its own. No answer of this package gives anybody a right
// to a slot: see packages consumer and luascripts.
package slots
