// Package zxid stands between go-zookeeper and its connections, and keeps the number
// of the last change that the client has heard of: the zxid of ZooKeeper.
//
// On a new connection the client sends that number together with its watches, and
// ZooKeeper reports what has happened to them since. The library stores the number of
// each answer without a lock while it reads it for that, so it is a race in the sense
// of Go. Worse, an answer on the new connection may come before the watches were sent
// again. Then its number goes with them, and earlier changes are never reported.
//
// This package keeps the number for the library: answers reach the library without one,
// and on a new connection it sends the number of the connection before.
//
// It knows three kinds of packets and nothing else of ZooKeeper, and retries nothing.
//
// # We note the last change that was heard of
//
// On a new connection the library sends it with its watches, and reads it for that without a lock while answers change
// it. An answer that came before the watches were sent would hide from them what has happened since the last connection.
// So this package takes the number out of each answer, and sends the one of the connection before. The clients of the
// tests use it, too.
package zxid
