package manual

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/testing/must"
)

// Each command that is shown has a page, which says what its help says, whatever roff would make of it.
func TestPages(t *testing.T) {
	t.Parallel()
	run := func(*cobra.Command, []string) {}
	root := &cobra.Command{Use: "rmq", Short: "Look into the queues", Long: "Look:\n\n  a list   stays\n.SH it is *text*\n'quoted'\nfolder\\file"}
	dead := &cobra.Command{Use: "dead", Short: "Dead messages", Long: "The dead."}
	list := &cobra.Command{Use: "list TOPIC", Short: "List them", Long: "List them all.", Example: "  rmq dead list orders", Run: run}
	list.Flags().Int("most", 5, "so `many`")
	root.PersistentFlags().Bool("json", false, "print JSON")
	dead.AddCommand(list)
	root.AddCommand(dead, Command(), &cobra.Command{Use: "hidden", Hidden: true, Run: run})
	folder := filepath.Join(t.TempDir(), "man", "man1")
	root.SetArgs([]string{"man", folder})
	must.Do(t, root.Execute())

	entries, err := os.ReadDir(folder)
	must.Do(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "rmq-completion-bash.1 rmq-completion-fish.1 rmq-completion-powershell.1 rmq-completion-zsh.1 rmq-completion.1 rmq-dead-list.1 rmq-dead.1 rmq-man.1 rmq.1" {
		t.Error(got)
	}
	for name, wants := range map[string][]string{
		"rmq.1": {`.TH "RMQ" 1 "" "rmq v`, ".SH NAME\n.nf\nrmq \\- Look into the queues\n.fi\n", "\n  a list   stays\n\\&.SH it is *text*\n\\&'quoted'\nfolder\\efile\n", "rmq\\-dead(1)\nrmq\\-man(1)\n"},
		"rmq-dead-list.1": {
			".SH SYNOPSIS\n.nf\nrmq dead list TOPIC [flags]\n", ".SH EXAMPLES\n.nf\n  rmq dead list orders\n", ".SH OPTIONS\n", "\\-\\-most many   so many (default 5)\n",
			".SH OPTIONS OF ALL COMMANDS\n", "\\-\\-json   print JSON\n", ".SH SEE ALSO\n.nf\nrmq\\-dead(1)\n.fi\n",
		},
	} {
		text, err := os.ReadFile(filepath.Join(folder, name))
		must.Do(t, err)
		for _, want := range wants {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s does not have %q:\n%s", name, want, text)
			}
		}
	}
	root.SetArgs([]string{"man", filepath.Join(folder, "rmq.1")})
	root.SilenceErrors, root.SilenceUsage = true, true
	if err := root.Execute(); err == nil || !strings.HasPrefix(err.Error(), "write the manual: ") {
		t.Error(err)
	}
}
