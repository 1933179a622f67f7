// Package problem is what went wrong with a request, as whoever asks sees it: by RFC 9457, in the words of the fields in JSON, and
// without the addresses of servers.
//
// It does not log, and does not know who asks.
package problem
