// Package commands is the program rmq, for people: what waits, what fails and why, which worker has
// which slots, and how to repair it. The program rmqd is the same and has a journal, too: see [Program].
//
//	rmq stats                       # is anything wrong?
//	rmq explain orders "order 4711" # where is it, why has it not run?
//	rmq -h                          # all commands
//
// Everything it knows comes from package inspector. The commands are in a package for each subject: topics, messages,
// dead, plans and journals. Package frame is what they have in common. Here they are put together, and tried as a
// whole. No command is written here.
package commands
