package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/slotmq/go-rmq/message"
)

// bySlog returns what a logger of slog writes as JSON, without the time of each line.
func bySlog(t *testing.T, o *slog.HandlerOptions, say func(log *zap.Logger)) []string {
	t.Helper()
	var b bytes.Buffer
	say(Choose(nil, slog.New(slog.NewJSONHandler(&b, o))))
	var lines []string
	for line := range strings.Lines(b.String()) {
		_, rest, _ := strings.Cut(line, `,"level"`) // behind the time
		lines = append(lines, `{"level"`+strings.TrimSuffix(rest, "\n"))
	}
	return lines
}

func want(t *testing.T, got []string, want ...string) {
	t.Helper()
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
}

// Each level of zap is the one of slog with the same meaning, and what the handler's level
// leaves out is not written.
func TestLevels(t *testing.T) {
	t.Parallel()
	say := func(log *zap.Logger) {
		log.Debug("a")
		log.Info("b")
		log.Warn("c")
		log.Error("d")
	}
	want(t, bySlog(t, &slog.HandlerOptions{Level: slog.LevelDebug}, say),
		`{"level":"DEBUG","msg":"a"}`, `{"level":"INFO","msg":"b"}`, `{"level":"WARN","msg":"c"}`, `{"level":"ERROR","msg":"d"}`)
	want(t, bySlog(t, &slog.HandlerOptions{Level: slog.LevelWarn}, say),
		`{"level":"WARN","msg":"c"}`, `{"level":"ERROR","msg":"d"}`)
}

// Fields stay attributes of their kind; names, groups and what a logger always adds are kept.
func TestFields(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	got := bySlog(t, nil, func(log *zap.Logger) {
		log = log.With(zap.String("topic", "orders"), zap.Int("slot", 3)).Named("worker")
		log.Info("kinds", zap.Bool("b", true), zap.Int64("n", -1<<60), zap.Float64("f", 1.5), zap.Duration("in", time.Second),
			zap.Time("at", at), zap.ByteString("stack", []byte("main.go:1")), zap.Error(errors.New("broken")), zap.Error(nil),
			zap.Any("panic", []int{1, 2}), zap.Strings("all", []string{"x", "y"}), zap.Stringer("s", at.Month()))
		log.With(zap.Namespace("of"), zap.Int("x", 1)).Info("group", zap.Int("y", 2))
	})
	want(t, got,
		`{"level":"INFO","msg":"kinds","logger":"worker","topic":"orders","slot":3,"b":true,"n":-1152921504606846976,"f":1.5,"in":1000000000,`+
			`"at":"2026-01-02T03:04:05Z","stack":"main.go:1","error":"broken","panic":[1,2],"all":["x","y"],"s":"January"}`,
		`{"level":"INFO","msg":"group","logger":"worker","topic":"orders","slot":3,"of":{"x":1,"y":2}}`)
}

// seen is a handler that keeps the last record.
type seen struct {
	slog.Handler
	last slog.Record
}

func (s *seen) Enabled(context.Context, slog.Level) bool { return true }
func (s *seen) Handle(_ context.Context, r slog.Record) error {
	s.last = r
	return nil
}

// A handler gets errors as they are, durations as durations, the time of the line, and the
// place in the source.
func TestRecord(t *testing.T) {
	t.Parallel()
	s := &seen{}
	log := Choose(nil, slog.New(s))
	log.Warn("x", zap.Error(io.ErrUnexpectedEOF), zap.Duration("in", time.Minute))
	got := map[string]slog.Value{}
	s.last.Attrs(func(a slog.Attr) bool {
		got[a.Key] = a.Value
		return true
	})
	if err, _ := got["error"].Any().(error); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error is %v", got["error"])
	}
	if got["in"].Kind() != slog.KindDuration || got["in"].Duration() != time.Minute {
		t.Errorf("in is %v", got["in"])
	}
	if at := s.last.Source(); at == nil || !strings.HasSuffix(at.File, "logs_test.go") || !strings.HasSuffix(at.Function, "TestRecord") {
		t.Errorf("source is %+v", at)
	}
	if age := time.Since(s.last.Time); age < 0 || age > time.Hour {
		t.Errorf("the line is %v old", age)
	}
}

// With no log at all, warnings and errors go to slog.Default, the one at the time of the line.
func TestDefault(t *testing.T) { // not in parallel: there is one slog.Default
	before := slog.Default()
	defer slog.SetDefault(before)
	log := Choose(nil, nil)
	var first, second bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&first, &slog.HandlerOptions{Level: slog.LevelDebug})))
	log.Info("no")
	log.Warn("one")
	slog.SetDefault(slog.New(slog.NewTextHandler(&second, nil)))
	log.Error("two")
	if f, s := first.String(), second.String(); strings.Count(f, "\n") != 1 || !strings.Contains(f, "msg=one") ||
		strings.Count(s, "\n") != 1 || !strings.Contains(s, "msg=two") {
		t.Errorf("got %q and %q", f, s)
	}
}

// A log of zap is used as it is; zap.NewNop is silence; and both are refused by name.
func TestChoose(t *testing.T) {
	t.Parallel()
	nop := zap.NewNop()
	if Choose(nop, nil) != nop {
		t.Error("another log was chosen")
	}
	both := Check(nop, slog.Default())
	var invalid *message.InvalidError
	if !errors.As(both, &invalid) || invalid.Field != "Config.Slog" || !strings.Contains(both.Error(), "Config.Logger") {
		t.Errorf("both: %v", both)
	}
	if Check(nop, nil) != nil || Check(nil, slog.Default()) != nil || Check(nil, nil) != nil {
		t.Error("one log was refused")
	}
}

// Each line is one object, whatever is in it.
func TestOneLineEach(t *testing.T) {
	t.Parallel()
	got := bySlog(t, nil, func(log *zap.Logger) {
		log.Error("a\nb", zap.String("content", "\x00\n\"é"), zap.Inline(zapcore.ObjectMarshalerFunc(func(e zapcore.ObjectEncoder) error {
			e.AddInt("z", 1)
			e.AddInt("y", 2)
			return nil
		})))
	})
	if len(got) != 1 || !json.Valid([]byte(got[0])) || !strings.Contains(got[0], `"y":2,"z":1`) {
		t.Errorf("got %q", got)
	}
}
