// Package messages are the commands about messages: to send, find, peek at, cancel, reschedule and purge them.
//
// Those that are dead have a package of their own, and so have plans, which send again and again.
package messages
