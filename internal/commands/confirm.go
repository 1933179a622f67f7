package commands

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/slotmq/go-rmq/internal/words"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// A command that cannot be undone, or changes many messages, asks before it begins.

// interrupted is the exit code after a signal, as shells have it.
const interrupted = 130

// asks gives a command the flag that answers in advance.
func asks(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVar(yes, "yes", false, "do not ask")
}

// confirm asks whether to do what, unless that was answered in advance. It returns nil for yes.
func (a *app) confirm(ctx context.Context, yes bool, what string) error {
	return a.question(ctx, yes, what, "? [y/N] ", func(answer string) bool {
		answer = strings.ToLower(answer)
		return answer == "y" || answer == "yes"
	})
}

// confirmNumber asks for the number of messages that are meant, which is harder to type by mistake than a y.
func (a *app) confirmNumber(ctx context.Context, yes bool, n int, what string) error {
	return a.question(ctx, yes, what, fmt.Sprintf("? Type %d: ", n), func(answer string) bool {
		return answer == strconv.Itoa(n) || answer == words.Grouped(n)
	})
}

// question prints one, and returns nil if the answer is the right one.
func (a *app) question(ctx context.Context, yes bool, what, how string, right func(answer string) bool) error {
	if yes {
		return nil
	}
	if f, ok := a.in.(*os.File); ok {
		if !term.IsTerminal(int(f.Fd())) {
			return misused("%s: needs --yes, since stdin is no terminal", what)
		}
	}
	if err := a.flush(); err != nil {
		return err
	}
	fmt.Fprint(a.errs, what+how)
	answer := make(chan string, 1)
	go func() { // ends with the process, if there is no answer
		line, _ := bufio.NewReader(a.in).ReadString('\n')
		answer <- line
	}()
	select {
	case line := <-answer:
		if right(strings.TrimSpace(line)) {
			return nil
		}
		return failed("nothing was changed")
	case <-ctx.Done():
		fmt.Fprintln(a.errs)
		return &failure{fmt.Errorf("interrupted; nothing was changed"), interrupted}
	}
}
