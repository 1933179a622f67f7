// Package webhook sends messages on by HTTP: it listens to topics, and POSTs each message to a URL.
//
//	push, err := webhook.New(webhook.Config{
//		Client:  rmq.Config{Redis: rdb},
//		Targets: []webhook.Target{{Topic: orders, URL: "https://shop.example/hooks", Secrets: []string{"whsec_…"}}},
//	})
//	err = push.Start(ctx)
//	…
//	err = push.Close(ctx)
//
// A target is an ordinary listener, so all that package rmq promises holds: workers share the slots,
// one message of a slot is under way at a time, one that fails comes again. The body is the content
// as it is. It is signed as Standard Webhooks 1.0 says, by all secrets of the target.
//
// The answer decides: see judge. What is no fault of the message spends none of its deliveries: a
// target that cannot be reached, and one that asks for patience, is left alone for a while. One that
// fails every message is noticed by the worker, which then tries one message now and then.
//
// A URL is https, redirects are not followed, and no connection is made to an address that is not
// public, unless the target allows it. That is checked when the connection is made, so it does
// not matter what a name meant before.
//
// It keeps no list of what it has sent, and no receivers' subscriptions: a topic has one target.
package webhook

import _ "github.com/slotmq/go-rmq/server/internal/same" // version of all modules
