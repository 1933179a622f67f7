// Package fleets runs workers as processes of their own whose slots ZooKeeper shares out, under a
// steady load, while workers come, go, die, freeze and lose their servers, and ZooKeeper dies.
//
// It holds tests only; package workers has what they run. What ZooKeeper holds is read by a client
// that knows nothing of RMQ.
package fleets
