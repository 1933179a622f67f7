// Package producer sends messages.
//
//	p, err := producer.New(rdb, producer.Config{})
//	orders := message.Topic{Name: "orders", Kind: message.KindFixedTime}
//	receipt, err := p.Send(ctx, orders, message.FixedTime{Content: "4711", At: tomorrow})
//
// Concurrent calls of [Producer.Send] share their writes: what arrives while
// one write is under way goes out together in the next, grouped by slot. A
// call returns when Redis has answered.
//
// A nil error means that the message is stored, on as many replicas as
// [Config.Durability] asks for. An error means that it is not, except for two:
// [ErrUncertain], after which it may or may not be, and [ErrNotReplicated],
// after which it is stored on the master. Sending the same message again is
// safe after all of them: it merges if it still waits.
//
// Range and In are reckoned from the send on by the clock of the Redis server, so
// the clocks of producers do not matter. A time that has passed is due now, and the
// [Receipt] says so; [Config.RefusePast] refuses it.
//
// The first Send to a topic writes its definition or compares it; a different one
// is refused with message.ErrTopicConflict.
//
// This package does not deliver messages: see package consumer.
package producer
