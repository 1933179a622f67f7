package checked

import (
	"fmt"
	"os"
	"strings"
)

// WorkerName is the name of a worker that is given none: that of the host, or another one if it is not known, and the
// process id.
func WorkerName(otherwise string) string {
	host, err := os.Hostname()
	if err != nil {
		host = otherwise
	}
	return fmt.Sprintf("%s-%d", strings.Map(oneWord, host), os.Getpid())
}

// Worker checks the name of a worker in a field.
func Worker(field, name string) error {
	if name != strings.Map(oneWord, name) || len(name) > 100 {
		return Invalid(field, Quote(name), "at most 100 bytes without spaces and control characters")
	}
	return nil
}

// oneWord keeps a name in one word, as entries of `why` want it.
func oneWord(r rune) rune {
	if r <= ' ' || r == 0x7f {
		return '-'
	}
	return r
}
