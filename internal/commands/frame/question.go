package frame

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/term"

	"github.com/slotmq/go-rmq/internal/text/words"
)

// A command that cannot be undone, or changes many messages, asks before it begins.

// Confirm asks whether to do what, unless that was answered in advance. It returns nil for yes.
func (p *Page) Confirm(ctx context.Context, yes bool, what string) error {
	return p.Question(ctx, yes, what, "? [y/N] ", func(answer string) bool {
		answer = strings.ToLower(answer)
		return answer == "y" || answer == "yes"
	})
}

// ConfirmNumber asks for the number of messages that are meant, which is harder to type by mistake than a y.
func (p *Page) ConfirmNumber(ctx context.Context, yes bool, n int, what string) error {
	return p.Question(ctx, yes, what, fmt.Sprintf("? Type %d: ", n), func(answer string) bool {
		return answer == strconv.Itoa(n) || answer == words.Grouped(n)
	})
}

// Question prints one, and returns nil if the answer is the right one.
func (p *Page) Question(ctx context.Context, yes bool, what, how string, right func(answer string) bool) error {
	if yes {
		return nil
	}
	if f, ok := p.In.(*os.File); ok {
		if !term.IsTerminal(int(f.Fd())) {
			return Misused("%s: needs --yes, since stdin is no terminal", what)
		}
	}
	if err := p.Flush(); err != nil {
		return err
	}
	fmt.Fprint(p.Errs, what+how)
	answer, err := Await(ctx, func() string {
		line, _ := bufio.NewReader(p.In).ReadString('\n')
		return line
	})
	switch {
	case err != nil:
		fmt.Fprintln(p.Errs)
		return &Error{Err: errors.New("interrupted; nothing was changed"), Code: Interrupted}
	case !right(strings.TrimSpace(answer)):
		return Failed("nothing was changed")
	}
	return nil
}

// Await waits for what may never come, such as a line from a terminal or a pipe, but no longer than ctx: the end of ctx
// does not end such a read.
func Await[T any](ctx context.Context, read func() T) (got T, err error) {
	come := make(chan T, 1)
	go func() { come <- read() }() // ends with the process, if nothing comes
	select {
	case got = <-come:
	case <-ctx.Done():
		err = ctx.Err()
	}
	return got, err
}
