// Command tally reads what `go test -json` writes and prints what you want to see of it: a line
// for each package when it ends, everything that a failed test said, and at the end what each
// package took, the slowest tests, and the sum.
//
//	go test -json ./... | go run ./internal/testing/tally
//
// It fails when a test has failed or was skipped, and when no test ran at all.
package main

import (
	"bufio"
	"fmt"
	"os"
)

func main() {
	sum := newTally(os.Stdout)
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			sum.read(line)
		}
		if err != nil { // the end
			break
		}
	}
	if wrong := sum.end(); wrong != "" {
		fmt.Fprintln(os.Stderr, wrong)
		os.Exit(1)
	}
}
