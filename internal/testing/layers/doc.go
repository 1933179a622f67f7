// Package layers holds the rules of this repository that a compiler does not know,
// as tests over its source: which package may import which, how large anything may
// become, and habits that would make the tests lie (sleeping, skipping).
//
//	               rmq                 front door; cmd, examples, rmqtest, bench stand on it
//	             /  |   \
//	    producer    |    consumer      do not know each other; inspector stands beside them
//	     /  |  \    |     /   |
//	message slots luascripts  message  leaves: do not know each other; internal/protocol calls the scripts
//
// Every rule is a pure function over what was read and is itself tested with
// source that breaks it. The package checks no style which gofmt and vet check,
// and exports nothing.
package layers
