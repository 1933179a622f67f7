package commands

import (
	"context"
	"database/sql"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/journal"
)

// Program is a binary with these commands.
type Program struct {
	Name string

	// Databases opens the database of a journal that is there already. It need not connect yet. Without it
	// the program knows no journal.
	Databases func(url string) (*sql.DB, journal.Dialect, error)

	// Patience is for the first answer of Redis, since the client would try for minutes, and for SQL to take what a call has
	// changed. Defaults to 5 s. Tests have more, since their machine may be busy.
	Patience time.Duration

	// Services are further commands, which work until they are ended.
	Services []frame.Command
}

// memory is how much this process takes before garbage is thrown away at once. Contents may be
// large, and without a limit there would be as much garbage as there are contents in use.
const (
	memory        = 16 << 20
	memoryWithSQL = 64 << 20
)

// Main is the main function of the binary.
func (p Program) Main() {
	limit := int64(memory)
	if p.Databases != nil {
		limit = memoryWithSQL
	}
	debug.SetMemoryLimit(limit)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal ends the process
	os.Exit(p.Run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Run is one call. What it returns is the exit code: 0 if all went well, 1 if not,
// 2 for wrong usage.
func (p Program) Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if p.Patience == 0 {
		p.Patience = 5 * time.Second
	}
	c := p.call(stdin, stdout, stderr)
	root := p.root(c)
	root.SetArgs(args)
	return c.Finish(root.ExecuteContext(ctx))
}

func (p Program) call(stdin io.Reader, stdout, stderr io.Writer) *frame.Call {
	return frame.New(p.Name, frame.Journals{Databases: p.Databases, Patience: p.Patience}, stdin, stdout, stderr)
}
