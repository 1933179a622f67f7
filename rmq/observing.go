package rmq

import "github.com/slotmq/go-rmq/message"

// Observer sees what happens to messages, for metrics, a log, or an alert: see
// Config.Observers. It is called by several goroutines at a time and must not block. Package
// message has its events, and ObserverFunc, which makes a function an Observer.
//
//	type Observer interface {
//		Observe(e *Event)
//	}
type Observer = message.Observer
