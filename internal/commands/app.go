package commands

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/inspector"
)

// app is one call: the flags that all commands have, and what they share.
type app struct {
	Program
	settings
	in   io.Reader
	out  *bufio.Writer
	errs io.Writer

	screen screen // that out is shown on
	status screen // that errs is shown on

	rdb  redis.UniversalClient // nil until a command connects
	kept *opened               // the journal; nil until a command opens it, if there is one

	missed inspector.PartialError // the parts that could not be read
}

// settings are the flags of all commands.
type settings struct {
	redis, zk, zkRoot, zkAuth, namespace, journalURL string
	json, base64, wide, noColor                      bool
}

func newApp(p Program, stdin io.Reader, stdout, stderr io.Writer) *app {
	return &app{
		Program: p,
		in:      stdin, out: bufio.NewWriter(stdout), errs: stderr,
		screen: screenOf(stdout), status: screenOf(stderr),
	}
}

// flush writes what was printed so far.
func (a *app) flush() error {
	if err := a.out.Flush(); err != nil {
		return fmt.Errorf("write the output: %w", err)
	}
	return nil
}

// finish ends the call, and says what went wrong.
func (a *app) finish(err error) int {
	jerr := a.closeJournal()
	missed, merr := a.reportMissed()
	if ferr := a.flush(); err == nil {
		err = cmp.Or(jerr, merr, ferr)
	}
	if a.rdb != nil {
		_ = a.rdb.Close() // nothing is lost by it
	}
	for _, line := range missed {
		fmt.Fprintln(a.errs, a.Name+": "+line)
	}
	switch {
	case err == nil && missed == nil:
		return 0
	case err == nil:
		return 1
	}
	line, code := a.explain(err)
	fmt.Fprintln(a.errs, a.Name+": "+line)
	return code
}

// flagOrEnv is the value of a flag, or else of the environment, or else a default. The
// flags have no defaults of their own, since the help would show what may be a password.
func flagOrEnv(flag, variable, otherwise string) string {
	if flag != "" {
		return flag
	}
	if value := os.Getenv(variable); value != "" {
		return value
	}
	return otherwise
}
