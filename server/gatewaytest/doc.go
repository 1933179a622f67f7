// Package gatewaytest proves the gateway from outside: rmqd as a process, and clients in other languages, run by
// their real interpreters. It has only tests.
package gatewaytest
