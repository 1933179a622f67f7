// Command rmqd is rmq with a journal in SQL, and serves programs in other languages: it has all commands of rmq,
// writes what they change into the journal, brings back what Redis has lost, speaks HTTP, and sends webhooks.
//
//	rmqd journal status                     # what does it hold, and what has it missed?
//	rmqd journal history orders "order 4711" # when was it sent, and what became of it?
//	rmqd journal restore                    # bring back what Redis has lost
//	rmqd journal reconcile --every          # compare it with Redis, all the time
//	rmqd serve                              # topics over HTTP
//	rmqd push --config push.json            # send messages on to URLs, as webhooks
//	rmqd -h                                 # all commands
//
// The journal is a file of SQLite, or in PostgreSQL, MySQL or MariaDB: see package databases.
package main

import (
	"github.com/slotmq/go-rmq/internal/commands"
	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/server/databases"
)

var program = commands.Program{Name: "rmqd", Databases: databases.Look, Services: []frame.Command{serveService, consoleService, tokenService, pushService, healthService}}

func main() { program.Main() }
