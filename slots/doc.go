// Package slots has the slot of a message, and the way to share slots by ZooKeeper.
//
// [Of] is part of the stored format: every producer in every language must
// compute the same slot for the same basis. Tests pin its results.
//
// [ZooKeeper] goes into rmq.Config.Slots. Without it, workers share the slots by a
// list of members in Redis. With it, a session shows which workers live, one of them
// assigns the slots and moves as few as it can, and a worker that died is proven dead.
//
// ZooKeeper connects to nothing until a worker starts, which then has a connection of
// its own. Having a slot assigned gives no right to its messages: see packages consumer
// and luascripts.
package slots
