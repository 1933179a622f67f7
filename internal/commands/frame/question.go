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

	"github.com/slotmq/go-rmq/internal/words"
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
	answer := make(chan string, 1)
	go func() { // ends with the process, if there is no answer
		line, _ := bufio.NewReader(p.In).ReadString('\n')
		answer <- line
	}()
	select {
	case line := <-answer:
		if right(strings.TrimSpace(line)) {
			return nil
		}
		return Failed("nothing was changed")
	case <-ctx.Done():
		fmt.Fprintln(p.Errs)
		return &Error{Err: errors.New("interrupted; nothing was changed"), Code: Interrupted}
	}
}
