package observers

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/message"
)

// Whatever an observer does, each is called once for an event, one after the other.
func TestEachObserverIsCalledOnce(t *testing.T) {
	var calls []string
	note := func(name string, then func()) message.Observer {
		return message.ObserverFunc(func(e *message.Event) {
			calls = append(calls, fmt.Sprint(name, e.Slot))
			then()
		})
	}
	fine, ends, panics := note("fine", func() {}), note("ends", runtime.Goexit), note("panics", func() { panic("oops") })
	for _, c := range []struct {
		all  []message.Observer
		want []string
	}{
		{[]message.Observer{fine, fine}, []string{"fine0", "fine0", "fine1", "fine1"}},
		{[]message.Observer{panics, fine}, []string{"panics0", "fine0", "panics1", "fine1"}},
		{[]message.Observer{ends}, []string{"ends0", "ends1"}},
		{[]message.Observer{ends, ends, fine, panics, ends}, []string{"ends0", "ends0", "fine0", "panics0", "ends0", "ends1", "ends1", "fine1", "panics1", "ends1"}},
	} {
		calls = nil
		o := New(c.all, zap.NewNop())
		var events []*message.Event
		for slot := range 2 {
			e := o.Event()
			e.Slot = slot
			events = append(events, e)
		}
		var reporter sync.WaitGroup
		reporter.Go(func() { o.Report(events) })
		reporter.Wait()
		o.Release(events...)
		if !slices.Equal(calls, c.want) {
			t.Errorf("called %q, want %q", calls, c.want)
		}
	}
}

func TestReportAsksForNoMemory(t *testing.T) {
	o := New([]message.Observer{message.ObserverFunc(func(*message.Event) {})}, zap.NewNop())
	e := []*message.Event{o.Event()}
	if n := testing.AllocsPerRun(1000, func() { o.Report(e) }); n >= 1 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkReport(b *testing.B) {
	o := New([]message.Observer{message.ObserverFunc(func(*message.Event) {})}, zap.NewNop())
	e := []*message.Event{o.Event()}
	for b.Loop() {
		o.Report(e)
	}
}
