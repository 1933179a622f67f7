package main

import (
	"context"
	"flag"
	"fmt"
	"strings"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/server/tokens"
)

var tokenService = frame.Command{
	Use:   "token NAME",
	Short: "Make a token for rmqd serve or rmqd console",
	Long: `Make a token, and print it: for a program that uses rmqd serve, or for a person
who signs in to rmqd console. It is shown only now: the file has its hash. To
end a token, take its entry out of the file, and send SIGHUP to what was started
with this file: it reads it again.

Rights: send (send, cancel, reschedule, define topics), take (take, finish,
extend), look (see all), act (requeue, delete, pause, limit, restore). A person
needs look, and act to change something in the console.`,
	Example: `  rmqd token shop --tokens tokens.json --rights send --topics orders,mails-*
  rmqd token ann --tokens tokens.json --rights look,act
  rmqd token admin --tokens tokens.json --rights send,take,look,act`,
	GoFlags: func(flags *flag.FlagSet) frame.Step {
		file := flags.String("tokens", "tokens.json", "`file` to add it to; it is made if it is not there")
		rights := flags.String("rights", "send,take,look", "what it may, as a `list`")
		topics := flags.String("topics", "*", "where it may that: a `list` of topics, with * for any text")
		return func(_ context.Context, call *frame.Call) error {
			h := tokens.Holder{Name: call.Args[0]}
			for _, topic := range strings.Split(*topics, ",") {
				h.Topics = append(h.Topics, strings.TrimSpace(topic))
			}
			for _, r := range strings.Split(*rights, ",") {
				h.Rights = append(h.Rights, tokens.Right(strings.TrimSpace(r)))
			}
			token, err := tokens.Add(*file, h)
			if err != nil {
				return frame.Failed("%w", err)
			}
			fmt.Fprintln(call.Out, token)
			return nil
		}
	},
}
