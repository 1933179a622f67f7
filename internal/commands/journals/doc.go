// Package journals are the commands about the journal: what it holds, what became of a message, and how to bring back
// what Redis has lost. Package messages asks it, too, for what it knows of one message.
//
// Only a program that opens databases has these commands. The journal itself is package journal.
package journals
