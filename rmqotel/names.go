package rmqotel

import (
	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/slotmq/go-rmq/internal/version"
)

const _ = version.EveryModuleMustBe_v0_1_0

// scope names this package as the one that makes the spans and metrics, and schemaURL the
// version of the semantic conventions that it follows.
const (
	scope     = "github.com/slotmq/go-rmq/rmqotel"
	schemaURL = semconv.SchemaURL
)

// Names of operations, and their types where the conventions have one.
const (
	sendName    = "send"
	processName = "process"
	receiveName = "receive"
)

var (
	system    = semconv.MessagingSystemKey.String("rmq")
	isSend    = []attribute.KeyValue{system, semconv.MessagingOperationName(sendName), semconv.MessagingOperationTypeSend}
	isProcess = []attribute.KeyValue{system, semconv.MessagingOperationName(processName), semconv.MessagingOperationTypeProcess}
)

// Attributes of spans that only RMQ has.
const (
	kindKey    = attribute.Key("messaging.rmq.kind")            // of the topic: range-merge, priority, fixed-time
	outcomeKey = attribute.Key("messaging.rmq.outcome")         // of a send: stored, merged, accepted, duplicate
	attemptKey = attribute.Key("messaging.rmq.message.attempt") // which delivery, from 1
	fenceKey   = attribute.Key("messaging.rmq.message.fence")   // of its batch
	mergedKey  = attribute.Key("messaging.rmq.message.merged")  // how many sends the delivery is for, with Links
)

// Attributes of metrics that only RMQ has.
const (
	topicKey     = attribute.Key("topic")     // with its namespace
	stateKey     = attribute.Key("state")     // of messages: waiting, in_flight, retrying, dead
	directionKey = attribute.Key("direction") // of a slot: gained, left
)

// Upper bounds of the buckets, in seconds. The bounds for durations are those of the
// conventions.
var (
	durationBounds = []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	latenessBounds = []float64{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800}
	batchBounds    = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256}
)
