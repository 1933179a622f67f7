//go:build !unix

package main

import "os"

// terminalWidth takes no file for a terminal here: colours and widths would be guesses.
func terminalWidth(*os.File) (int, bool) { return 0, false }
