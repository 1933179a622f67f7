// Package producer sends messages.
//
//	p, err := producer.New(rdb, producer.Config{})
//	orders := message.Topic{Name: "orders", Kind: message.KindFixedTime}
//	receipt, err := p.Send(ctx, orders, message.FixedTime{Content: "4711", At: tomorrow})
//
// Concurrent calls of [Producer.Send] share their writes: what arrives during one
// write goes out together in the next, grouped by slot. A call returns when Redis
// has answered.
//
// A nil error means that the message is stored, on as many replicas as
// [Config.Durability] asks for. An error means that it is not, except for two:
// [ErrUncertain], after which it may or may not be, and [ErrNotReplicated],
// after which it is stored on the master. Sending the same message again is
// safe after all of them: it merges if it still waits.
//
// Range and In count from the send, by the clock of the Redis server: your own clock
// does not matter. A time that has passed is due now, and the [Receipt] says so, unless
// [Config.RefusePast] or the MaxLate of the topic's listener refuses it, with [ErrPast].
//
// The first Send to a topic stores its definition, or compares it with the stored one.
// If they differ, Send returns message.ErrTopicConflict.
//
// This package does not deliver messages: see package consumer.
package producer
