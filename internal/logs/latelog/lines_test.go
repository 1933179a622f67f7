package latelog

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"go.uber.org/zap/zaptest/observer"
)

var ctx = context.Background()

// gate is a place to write to that blocks while it is shut.
type gate struct {
	bytes.Buffer
	open    chan struct{}
	reached chan struct{} // closed when somebody writes
	once    sync.Once
}

func newGate() *gate { return &gate{open: make(chan struct{}), reached: make(chan struct{})} }

func (g *gate) Write(b []byte) (int, error) {
	g.once.Do(func() { close(g.reached) })
	<-g.open
	return g.Buffer.Write(b)
}

// What is written is what the logger itself would have written, byte for byte and in
// order, with its fields, names, callers, stacks and levels.
func TestSameLines(t *testing.T) {
	t.Parallel()
	say := func(log *zap.Logger) {
		log.Debug("not at this level")
		log.Info("begun", zap.Int("n", 1))
		part := log.Named("part").With(zap.String("topic", "orders"), zap.Namespace("in"))
		for i := range 50 {
			part.With(zap.Int("slot", i)).Warn("slot", zap.Int("i", i))
		}
		log.Error("ended", zap.Error(context.Canceled))
	}
	now := time.Now()
	write := func(beside bool) string {
		var b bytes.Buffer
		config := zap.NewProductionEncoderConfig()
		log := zap.New(zapcore.NewCore(zapcore.NewJSONEncoder(config), zapcore.AddSync(&b), zap.InfoLevel),
			zap.AddCaller(), zap.Fields(zap.String("app", "shop")), zap.WithClock(clock{now}))
		if !beside {
			say(log)
			return b.String()
		}
		log, lines := Beside(log)
		say(log)
		lines.Flush(ctx)
		return b.String()
	}
	want, got := write(false), write(true)
	if want != got || strings.Count(got, "\n") != 52 {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

type clock struct{ now time.Time }

func (c clock) Now() time.Time                         { return c.now }
func (c clock) NewTicker(d time.Duration) *time.Ticker { return time.NewTicker(d) }

// A logger that samples goes on doing so.
func TestSampling(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	log, lines := Beside(zap.New(zapcore.NewSamplerWithOptions(core, time.Hour, 3, 0)))
	for range 10 {
		log.Info("again")
	}
	lines.Flush(ctx)
	if logs.Len() != 3 {
		t.Errorf("%d lines of 10, of which the sampler lets 3 pass", logs.Len())
	}
}

// A log that blocks holds up no caller. What fits is kept in order; the rest is dropped,
// and counted. A flush ends with its context.
func TestLogThatBlocks(t *testing.T) {
	t.Parallel()
	g := newGate()
	log, lines := Beside(zap.New(zapcore.NewCore(zapcore.NewConsoleEncoder(zapcore.EncoderConfig{MessageKey: "m"}), zapcore.AddSync(g), zap.InfoLevel)))
	log.Info("first")
	<-g.reached
	for i := range most + 7 {
		log.Info(fmt.Sprint(i))
	}
	over, cancel := context.WithCancel(ctx)
	cancel()
	lines.Flush(over)
	close(g.open)
	lines.Flush(ctx)
	var want []string
	want = append(want, "first")
	for i := range most {
		want = append(want, fmt.Sprint(i))
	}
	want = append(want, "the log is slow, and lines were dropped\t{\"lines\": 7}", "")
	if got := g.String(); got != strings.Join(want, "\n") {
		t.Errorf("%d bytes, want %d; the end is %q", len(got), len(strings.Join(want, "\n")), got[max(0, len(got)-80):])
	}
	lines.Flush(ctx) // of nothing
	log.Info("again")
	lines.Flush(ctx)
	if !strings.HasSuffix(g.String(), "again\n") {
		t.Error("nothing is written any more")
	}
}

// Many write at once, and each one's lines stay in its order.
func TestManyWriters(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	log, lines := Beside(zap.New(core))
	var all sync.WaitGroup
	for w := range 8 {
		all.Go(func() {
			for i := range 100 {
				log.Info("line", zap.Int("w", w), zap.Int("i", i))
			}
		})
	}
	all.Wait()
	lines.Flush(ctx)
	next := map[any]int64{}
	for _, l := range logs.All() {
		m := l.ContextMap()
		if m["i"] != next[m["w"]] {
			t.Fatalf("writer %v: line %v, want %d", m["w"], m["i"], next[m["w"]])
		}
		next[m["w"]]++
	}
	if logs.Len() != 800 {
		t.Errorf("%d lines of 800", logs.Len())
	}
}
