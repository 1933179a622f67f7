// Package gateway serves the topics of RMQ over HTTP, for programs in any language: they send, take and finish
// messages, ask for them and cancel them, and get the promises that Go programs get.
//
//	g, err := gateway.New(gateway.Config{Redis: rdb, Tokens: file})
//	http.Serve(listener, g)
//
// It keeps nothing: any number of gateways may stand behind a load balancer, what one has given out another one may
// finish, and each may be killed at any time. What is asked and answered is in openapi.json, which it serves, and
// described in docs/HTTP.md.
//
// It does not listen itself, and knows nothing of TLS: see rmqd serve. It does not call others: see package webhook.
package gateway

import _ "github.com/slotmq/go-rmq/server/internal/same" // version of all modules
