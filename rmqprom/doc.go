// Package rmqprom gives Prometheus the figures of RMQ. It is a module of its own, so that
// only programs which use Prometheus get its library.
//
// [Metrics] counts what the clients of one process do: every process that sends or
// handles has one.
//
//	metrics, err := rmqprom.New(rmqprom.Config{})
//	client, err := rmq.New(rmq.Config{
//		URL: url, Observers: []rmq.Observer{metrics}, Middleware: []rmq.Middleware{metrics.Middleware},
//	})
//	http.Handle("/metrics", promhttp.Handler())
//
// The middleware counts handlers that run; for batch listeners there is
// [Metrics.BatchMiddleware].
//
// [State] shows what is stored in Redis: how much waits, what is overdue, who works. It is
// the same wherever you ask, and to ask costs Redis something for every slot. So one
// process has it for all, and not every worker.
//
//	state, err := rmqprom.NewState(rmqprom.StateConfig{Redis: rdb})
//
// Names and labels are those of OpenTelemetry's messaging conventions, where these have
// one, in their Prometheus form: messaging_system is "rmq", and
// messaging_destination_name the topic, with its namespace. What only RMQ has begins with
// rmq_, and its label topic is the same name. No label names a slot, a worker or a content,
// so there are as many series as there are topics, times a small number.
//
// dashboard.json is a dashboard for Grafana, alerts.yaml has rules for Prometheus, and
// keda.yaml scales workers of Kubernetes; tests hold the names in them against a real
// scrape. docs/OPERATIONS.md says which figure answers which question.
//
// The package keeps no history, and serves no HTTP: promhttp does.
package rmqprom
