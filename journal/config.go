package journal

import (
	"fmt"
	"log/slog"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/logs"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/message"
)

// Config of a journal. Its zero value is a good one.
type Config struct {
	// Wait makes a send return only when its row is committed, or with message.ErrNotJournaled.
	// Defaults to false: sends do not wait for SQL.
	Wait bool

	// WaitAtMost bounds that, behind the answer of Redis. The row is written later, if SQL comes
	// back. Defaults to 5 s.
	WaitAtMost time.Duration

	// Lag is how long a row may wait for others to be written with; with Wait it waits for none.
	// So it is what a killed process loses of the journal while SQL keeps up. Defaults to 100 ms.
	Lag time.Duration

	// Buffer is how many bytes of rows are kept in memory at the most while SQL is away or
	// too slow. Defaults to 64 MiB.
	Buffer int

	// Full says what happens then. Defaults to Drop.
	Full Full

	// Flow says what is kept of what happens to a message. Defaults to Ends.
	Flow Flow

	// Retention is how long rows are kept that are not needed any more to tell what is owed or dead. What
	// is older is deleted from time to time, by one of the processes with this database. It must be
	// longer than any of them may hold rows in memory, and than any clock is wrong. Defaults to 7 days.
	Retention time.Duration

	// MaxContent is the largest content in bytes that SendTx takes. Give it the value that rmq.Config has.
	// Defaults to 256 KiB.
	MaxContent int

	// Poll is how often a relay looks into an outbox that is empty. What is sent by SendTx of the
	// same process is found sooner. Defaults to 1 s.
	Poll time.Duration

	// Logger and Slog get a line when SQL goes away and one when it is back. Defaults to
	// slog.Default() for warnings and errors.
	Logger *zap.Logger
	Slog   *slog.Logger
}

// Full is what to do when the buffer is full.
type Full uint8

const (
	// Drop keeps no more rows, lets sends go on, and says so by a row of rmq_gap.
	Drop Full = iota
	// Refuse makes sends fail with ErrFull. Ends, which have happened, are dropped.
	Refuse
)

// Flow is how much is kept of what happens to a message.
type Flow uint8

const (
	// Ends keeps the ends of messages: done, dead, dropped, cancelled, deleted.
	Ends Flow = iota
	// All also keeps that it was taken, failed, snoozed, handed back or overtaken.
	All
)

// full is the config with its defaults, or what is wrong with it.
func (c Config) full() (Config, error) {
	for _, f := range []struct {
		name     string
		value    *time.Duration
		standard time.Duration
		least    time.Duration
		most     time.Duration
	}{
		{"WaitAtMost", &c.WaitAtMost, 5 * time.Second, time.Millisecond, time.Hour},
		{"Lag", &c.Lag, 100 * time.Millisecond, time.Millisecond, time.Minute},
		{"Retention", &c.Retention, 7 * 24 * time.Hour, time.Hour, 100 * 365 * 24 * time.Hour},
		{"Poll", &c.Poll, time.Second, 10 * time.Millisecond, time.Hour},
	} {
		if *f.value == 0 {
			*f.value = f.standard
		}
		if *f.value < f.least || *f.value > f.most {
			return c, &message.InvalidError{Field: "Config." + f.name, Value: f.value.String(), Limit: fmt.Sprintf("from %v to %v", f.least, f.most)}
		}
	}
	if c.Buffer == 0 {
		c.Buffer = 64 << 20
	}
	if c.MaxContent == 0 {
		c.MaxContent = limits.DefaultContentBytes
	}
	switch {
	case c.MaxContent < 1 || c.MaxContent > limits.ContentBytes:
		return c, &message.InvalidError{Field: "Config.MaxContent", Value: itoa(c.MaxContent), Limit: "1 to " + itoa(limits.ContentBytes) + " bytes"}
	case c.Buffer < 64<<10:
		return c, &message.InvalidError{Field: "Config.Buffer", Value: itoa(c.Buffer), Limit: "at least 65536 bytes"}
	case c.Full > Refuse:
		return c, &message.InvalidError{Field: "Config.Full", Value: itoa(int(c.Full)), Limit: "Drop or Refuse"}
	case c.Flow > All:
		return c, &message.InvalidError{Field: "Config.Flow", Value: itoa(int(c.Flow)), Limit: "Ends or All"}
	}
	return c, logs.Check(c.Logger, c.Slog)
}
