package rmqprom

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/slotmq/go-rmq/internal/version"
)

const _ = version.EveryModuleMustBe_v0_1_0

// The names and labels of all metrics. Those that begin with messaging_ are of the semantic
// conventions of OpenTelemetry, v1.43.0, which may still change them.

// Values of labels.
const (
	system    = "rmq"
	send      = "send"
	process   = "process"
	receive   = "receive"
	otherName = "_OTHER" // of a topic beyond Config.MaxTopics
)

// What a process counts.
var (
	sentMessages = client("messaging_client_sent_messages_total",
		"Messages that were sent, also those that merged or were refused.")
	consumedMessages = client("messaging_client_consumed_messages_total",
		"Deliveries to handlers.")
	operationDuration = client("messaging_client_operation_duration_seconds",
		"How long Redis took to store a message, or to give a worker a batch.", "messaging_operation_type")
	processDuration = client("messaging_process_duration_seconds",
		"How long handlers had a message.")

	merged     = own("rmq_merged_total", "Messages sent that met an equal one that waited.")
	duplicates = own("rmq_duplicates_total", "Unique messages sent that were duplicates: nothing was stored.")
	failed     = own("rmq_failed_total", "Deliveries that failed; the message comes again.")
	dead       = own("rmq_dead_total", "Messages that failed for the last time.")
	snoozed    = own("rmq_snoozed_total", "Messages that their handler wanted later.")
	dropped    = own("rmq_dropped_total", "Messages that a worker had taken and dropped: cancelled, or too late.")
	expired    = own("rmq_expired_total", "Messages that came too late to be handled: of those dead or dropped.")
	handedBack = own("rmq_handed_back_total", "Messages that were taken, but not begun, and went back.")
	takenOver  = own("rmq_taken_over_total", "Messages that this worker lost to another one.")
	slotMoves  = own("rmq_slot_moves_total", "Slots that came to this worker, or left it.", "direction")
	probing    = own("rmq_probing", "Workers of this process that only try a message now and then, because all of the topic fail.")
	allowed    = own("rmq_handlers_allowed", "Handlers of the topic that may run at once in this process: fewer than its Concurrency while something limits it.")
	lateness   = own("rmq_lateness_seconds", "How long after it was due a message was taken, by the clock of Redis.")
	batchSize  = own("rmq_batch_size", "Messages that a worker took at once from a slot.")

	handlersRunning = prometheus.NewDesc("rmq_handlers_running", "Handlers that run now in this process.", nil, nil)
)

// What is stored in Redis.
var (
	messages = own("rmq_messages", "Messages in Redis: waiting, in_flight, retrying, dead.", "state")
	due      = own("rmq_messages_due", "Messages, waiting or retrying, that could be handled now.")
	overdue  = own("rmq_overdue_seconds", "How long the message that is due longest has been due. In a priority topic, of retries only.")
	paused   = own("rmq_slots_paused", "Slots that are paused.")
	unread   = own("rmq_slots_unread", "Slots that could not be looked at: the other figures of the topic are without them.")
	workers  = own("rmq_workers", "Workers that share the topic.")

	stateErrors = prometheus.NewDesc("rmq_state_errors_total", "Looks at topics in Redis that failed, or found a part only.", nil, nil)
	stateAge    = prometheus.NewDesc("rmq_state_age_seconds", "Age of the oldest figures of a topic in Redis that are shown.", nil, nil)
)

// ofMetrics and ofState are the metrics of a process, and those of what is stored. Each stands in dashboard.json, too, and
// has its twin in package rmqotel, where instruments.go has most. What rmqd counts of itself is in server/gateway.
var (
	ofMetrics = []*prometheus.Desc{
		sentMessages, consumedMessages, operationDuration, processDuration, merged, duplicates, failed, dead, snoozed,
		dropped, expired, handedBack, takenOver, slotMoves, probing, allowed, lateness, batchSize, handlersRunning,
	}
	ofState = []*prometheus.Desc{messages, due, overdue, paused, unread, workers, stateErrors, stateAge}
)

// client is a metric that the conventions name.
func client(name, help string, more ...string) *prometheus.Desc {
	labels := []string{"messaging_system", "messaging_operation_name", "messaging_destination_name", "error_type"}
	return prometheus.NewDesc(name, help, append(labels, more...), nil)
}

// own is a metric that only RMQ has.
func own(name, help string, more ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"topic"}, more...), nil)
}

// Upper bounds of the buckets. Those of durations are given by the conventions.
var (
	durations  = seconds(0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10)
	latenesses = seconds(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1800)
	sizes      = buckets{[]int64{1, 2, 4, 8, 16, 32, 64, 128, 256}, 1}
)
