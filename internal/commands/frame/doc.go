// Package frame is what all commands have in common. A [Call] of the program has the flags that all of them know, the
// servers behind these, the page that is printed on, and what a command needs from its first flag to its exit code.
//
// # Adding a command
//
// Write a [Command] in the package of its subject and put it into the list of the package. Give it Use, Short, Example
// and Steps; or Flags, which adds its flags and returns its steps. What stands in Use is checked: "peek TOPIC" takes one
// argument, "stats [TOPIC]" one or none, "cancel TOPIC CONTENT..." two or more. A first argument TOPIC is completed.
//
// A step is a function (ctx, c *Call) error; the first that fails ends the command. These are there:
//
//	frame.OfContent // reads the second argument into c.Content
//	frame.Connect   // connects: c.Inspector; what is checked before needs no server
//	frame.AtTopic   // looks the first argument up: c.Topic
//	frame.Timed     // asks the server for its time: c.Now
//
// And these help in a step:
//
//	j, err := c.NeedJournal(ctx, frame.ToLook)  // it is closed with the call
//	return c.Answer(v, "%s is cancelled", name) // v as a line of JSON, or the text, wrapped at the width of the screen
//	n, err := frame.List[T]{...}.On(c.Page)     // a row each in a table, or an object each
//	t := c.Table("slot#", "when", "content")    // "#": a number, to the right
//	t.Row(7, "due in 4m", c.Text(content))
//	err = c.Partly(err)                         // nil if only parts could not be read: they are named at the end
//	err := c.Confirm(ctx, yes, "pause all")     // nil for yes
//	return frame.Sweep{...}.Run(ctx, c)         // changes many messages, and says how to go on
//	return frame.Failed("%d checks failed", n)  // exit code 1, one line on stderr
//	return frame.Misused("--slot is %d", n)     // exit code 2, for wrong usage
//
// In JSON contents are as [Page.Shown] has them, times are wire.Stamp and durations wire.Millis. What is printed is
// written when the call ends, and by [Page.Flush]. A signal ends ctx.
//
// This package knows no command.
package frame
