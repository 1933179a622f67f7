// Package inspector looks at topics and changes what is in them, without a key name: what you
// would otherwise do with redis-cli. The command rmq (cmd/rmq) is built on it.
//
//	i, err := inspector.New(rdb, inspector.Config{})
//	found, err := i.Explain(ctx, "orders", "order 4703", "") // where is it, and why has it not run?
//
// To look: [Inspector.Topics], [Inspector.Stats], [Inspector.Slots], [Inspector.Workers],
// [Inspector.Vanished], [Inspector.Peek], [Inspector.Explain], [Inspector.Policy] and [Inspector.Ahead].
// These only read, and workers go on meanwhile. If a part cannot be looked at, you get the rest, together
// with a [PartialError].
//
// To change: [Inspector.Cancel], [Inspector.Reschedule], [Inspector.Pause],
// [Inspector.Resume] and [Inspector.Purge]. Each change is made by a script at one slot, so no worker can
// come in between. [Inspector.Limit] and [Inspector.Unlimit] slow the workers of a topic down for some time.
//
// Two subjects have methods of their own: [Inspector.Dead] gives the dead messages, to list, count, group,
// requeue and delete them, and [Inspector.Plans] those that are sent again and again, to list, set and stop
// them.
//
// To check: [Inspector.Doctor] looks at the servers and at topics that need attention,
// [Inspector.Verify] compares all that is stored with the rules in docs/PROTOCOL.md.
//
// No call asks Redis for more than 500 elements, or for more than about 1 MiB of contents,
// and none goes through all keys, however much is stored. (Redis scans small sets and hashes
// whole: 512 elements by default.) What you see of one slot is of one moment; of several slots
// it is not. All times are compared by the clock of the Redis server.
//
// Besides what workers need, its Redis user needs +hscan +pexpire +sscan +type and
// +zrank. One that only looks needs no more than +eval +evalsha +hget +hmget +hscan +info
// +ping +sscan +time +zcard +zcount +zmscore +zrange +zrank +zscore.
//
// It does not send messages, see package producer, and keeps no history.
package inspector
