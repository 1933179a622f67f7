// Package wire is how messages, and what is known of them, are written as JSON: in what rmq prints with --json
// and reads with --batch, and in what the gateway answers and is asked. There is one Go type for both, so whoever
// has learnt one knows the other.
//
// Times are RFC 3339 in UTC with milliseconds. Durations that are given are texts as people write them, "90s" or "2d";
// those that are answered are whole milliseconds, in a field whose name ends with _ms. Contents are texts where they
// are UTF-8, and base64 in a field of its own otherwise.
//
// Types with nothing but counts and words are written by their own tags, such as inspector.Requeued. Types with times,
// durations or contents have a twin here: a program in Go wants a time.Time, a time.Duration and a string there, and
// encoding/json would write these differently.
package wire
