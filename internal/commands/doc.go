// Package commands is the program rmq, for people: what waits, what fails and why, which worker has
// which slots, and how to repair it. The program rmqd is the same and has a journal, too: see [Program].
//
//	rmq stats                       # is anything wrong?
//	rmq explain orders "order 4711" # where is it, why has it not run?
//	rmq -h                          # all commands
//
// Everything it knows comes from package inspector. Here is what a shell needs: flags,
// tables, JSON, errors of one line, questions.
//
// # Adding a command
//
// Write a method of app that returns a *cobra.Command, in a file of its own, and put it
// into the list looking or changing (root.go). Give it Use, Short, Example
// and RunE. What stands in Use is checked: "peek TOPIC" takes one argument, "stats
// [TOPIC]" one or none, "cancel TOPIC CONTENT..." two or more. A first argument TOPIC is
// completed. In RunE:
//
//	i, err := a.inspector(cmd.Context())    // connects; it is closed by run
//	content, err := a.content(args[1])      // a CONTENT from the command line, with --base64
//	if a.json { return a.object(v) }        // one line; content by a.shown, times by wire.Stamp, durations by wire.Millis
//	t := a.table("slot#", "when", "content")  // "#": a number, to the right
//	t.row(7, "due in 4m", a.text(content))
//	return t.end()
//	a.say("nothing waits in %s", topic)     // a line, wrapped at the width of the screen
//	return failed("%d checks failed", n)    // exit code 1, one line on stderr
//	return misused("--slot is %d", n)       // exit code 2, for wrong usage
//	p := a.progress("requeue", total); defer p.end(); p.show(done)
//
// Output is written when run returns; a.flush() writes it at once. Everything of an app
// is used by one goroutine. A signal ends cmd.Context().
package commands
