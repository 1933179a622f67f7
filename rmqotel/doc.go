// Package rmqotel gives OpenTelemetry spans and metrics of RMQ. It is a module of its own,
// so that only programs which use OpenTelemetry get its library.
//
//	cfg := rmq.Config{URL: url}
//	if _, err := rmqotel.Instrument(&cfg, rmqotel.Config{}); err != nil {
//		return err
//	}
//	client, err := rmq.New(cfg)
//
// [Instrument] puts everything into the Config of a client: middleware around its sends and
// its handlers, and an observer of what becomes of messages. [New] returns the same as parts.
//
// # Spans
//
//	send {topic}      PRODUCER  one Send
//	send {topic}      CLIENT    one SendBatch; PRODUCER with Config.Links
//	process {topic}   CONSUMER  one call of a handler, or of a batch listener
//	cancel {topic} …  CLIENT    what you pass to Telemetry.Operation
//
// A handler runs in a trace of its own: several sends may have merged into what it handles,
// and it may run days later. With [Config.Links] its span links to the first and to the last
// of those sends. A message has no place for the context of a send, since its content is its
// identity. So the context is kept in Redis beside the message: see [Config.Links] for what
// that costs.
//
// There are no spans for messages that were taken and not begun, nor for finishing them: one
// turn of a slot reports many.
//
// # Metrics
//
// Those of OpenTelemetry's messaging conventions, messaging.client.sent.messages,
// messaging.client.consumed.messages, messaging.client.operation.duration and
// messaging.process.duration; and what only RMQ has, rmq.merged, rmq.lateness and others:
// instruments.go lists them. Their words are those of module rmqprom, and what is counted is the
// same: events, each of which is definite. What waits in Redis is the same wherever you ask,
// and to ask costs Redis something for every slot: [State] is for one process, not for every
// worker.
//
// # Attributes
//
// Names follow version 1.43.0 of the semantic conventions, which the scope's schema URL names;
// the conventions for messaging are not stable yet. messaging.system is "rmq";
// messaging.destination.name is the topic, with its namespace; messaging.destination.partition.id
// is the slot, on spans only; messaging.client.id is the id of the worker. There are no consumer
// groups. error.type has the words of rmq.ErrorType. What only RMQ has begins with
// messaging.rmq. A content may be personal, so messaging.message.id is set only with
// [Config.Contents]; the text of an error is the description of a span's status.
//
// The package starts no goroutine that lasts, and exports nothing by itself: your providers do.
package rmqotel
