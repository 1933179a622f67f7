// Package manual writes the manual pages of a program, one for each of its commands.
//
// They say what the help says, line by line: its texts are laid out for 80 columns. The generator of cobra would make
// paragraphs of their lists, and take an asterisk for emphasis.
package manual
