package main

import "github.com/spf13/cobra"

// changing are the commands that change something.
func (a *app) changing() []*cobra.Command {
	return []*cobra.Command{
		a.sendCommand(), a.cancelCommand(), a.rescheduleCommand(), a.deadCommand(),
		a.pauseCommand(), a.resumeCommand(),
	}
}
