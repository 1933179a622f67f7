// Package rmqhttp answers the probes of Kubernetes, and of whatever else asks by HTTP.
//
//	go http.ListenAndServe(":8080", rmqhttp.Health(client))
//
// It has two paths, and answers 200 or 503 in plain text. The text of a 503 says what is wrong.
//
//   - /livez: this process need not be started again. It asks nothing of Redis: when Redis is
//     away, a new process would find it away, too, and all workers would start at once when it
//     comes back. See rmq.Client.Alive.
//   - /readyz: the client can do its work now. It asks Redis, and waits for at most 0.8 s,
//     since a probe of Kubernetes waits for one second. See rmq.Client.Health.
//
// A pod that is not ready gets no requests from a Service. Its worker goes on trying all the
// same, and needs no request.
//
// It opens no port, knows nothing of passwords, and serves no metrics.
package rmqhttp
