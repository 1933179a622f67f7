package servertest

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

var atEnd struct {
	sync.Mutex
	ends []func() error
}

// AtEnd makes [Main] call end once after the last test: what else the tests of a
// process share ends there. An error fails the run.
func AtEnd(end func() error) {
	atEnd.Lock()
	defer atEnd.Unlock()
	atEnd.ends = append(atEnd.ends, end)
}

func endOthers() error {
	atEnd.Lock()
	defer atEnd.Unlock()
	var errs []error
	for _, end := range slices.Backward(atEnd.ends) {
		errs = append(errs, end())
	}
	atEnd.ends = nil
	return errors.Join(errs...)
}

// Main runs the tests of a package, stops the servers they shared, and fails when
// a goroutine is left over. Call it from TestMain; it does not return.
func Main(m *testing.M) {
	slog.SetDefault(slog.New(slog.DiscardHandler)) // what clients without a logger say is no test's
	code := m.Run()
	if err := errors.Join(endOthers(), stopShared(), removeBuilt(), removeFiles()); err != nil {
		code = fail(code, err)
	}
	// After a failed test leftovers are no news.
	if code == 0 {
		if err := leaks(); err != nil {
			code = fail(code, err)
		}
	}
	os.Exit(code)
}

func fail(code int, err error) int {
	fmt.Fprintln(os.Stderr, "FAIL:", err)
	return max(code, 1)
}

// leaks waits longer than one goleak.Find does (0.4 s): a go-redis pool that was
// closed while its server was away looks up from its redial loop once a second.
func leaks() error {
	var err error
	for range 8 {
		if err = goleak.Find(ofClosedFailovers...); err == nil {
			return nil
		}
	}
	return err
}

// ofClosedFailovers are goroutines of go-redis: its client of Sentinels that is closed while it
// dials subscribes at a Sentinel after that, and nobody ends the subscription. RMQ itself reads none
// by a channel.
var ofClosedFailovers = []goleak.Option{
	goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9.(*sentinelFailover).listen"),
	goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9.(*channel).initMsgChan.func1"),
	goleak.IgnoreAnyFunction("github.com/redis/go-redis/v9.(*channel).initHealthCheck.func1"),
}

// AtOnce lets at most n tests of a package run at once: where each of them keeps the processors
// busy, more would only wait for each other. Call it before [Main].
func AtOnce(n int) {
	flag.Parse()
	if f := flag.Lookup("test.parallel"); f.Value.(flag.Getter).Get().(int) > n {
		if err := f.Value.Set(strconv.Itoa(n)); err != nil {
			panic(err)
		}
	}
}
