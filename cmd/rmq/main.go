// Command rmq is for people: what waits, what fails and why, which worker has which slots,
// and how to repair it.
//
//	rmq stats                       # is anything wrong?
//	rmq explain orders "order 4711" # where is it, why has it not run?
//	rmq -h                          # all commands
package main

import "github.com/slotmq/go-rmq/internal/commands"

func main() { commands.Program{Name: "rmq"}.Main() }
