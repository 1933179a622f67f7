package journals

import "github.com/slotmq/go-rmq/internal/commands/frame"

// About is in the help of a program that knows journals.
const About = `
The journal is where --journal or RMQ_JOURNAL says, else in the file
` + frame.DefaultJournal + ` of this folder, if it is there. Forms:
  sqlite:/var/lib/rmq/journal.db
  postgres://user:password@host:5432/database
  mysql://user:password@host:3306/database       MySQL, or MariaDB
What is sent, cancelled, requeued or deleted here is written there, too. If the
database goes away meanwhile, a send waits 5 s for it, and the end of the call
5 s more; then it says what is not there.
`

// Command has those about the journal.
var Command = frame.Command{
	Use:   "journal",
	Short: "Look into the journal, and bring back what Redis has lost",
	Long: `The journal: which messages were sent and what became of them, in SQL. Programs
write it (package journal). It says what is owed also when Redis is lost.`,
	Changes: true,
	Below:   []frame.Command{status, history, restore, reconcile, relay, compact},
}
