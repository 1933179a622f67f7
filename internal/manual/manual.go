package manual

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slotmq/go-rmq/internal/version"
)

// Command is the one that writes the pages of its program.
func Command() *cobra.Command {
	return &cobra.Command{
		Use:   "man FOLDER",
		Short: "Write the manual pages into a folder",
		Long: `Write the manual pages into a folder, one for each command. The folder is made
if it is missing.`,
		Example: `  rmq man /usr/local/share/man/man1 && man rmq-dead-requeue`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("write the manual: %w", err)
			}
			return write(args[0], cmd.Root())
		},
	}
}

// write writes the pages of a command and of those below it.
func write(folder string, cmd *cobra.Command) error {
	if err := os.WriteFile(filepath.Join(folder, name(cmd)+".1"), []byte(page(cmd)), 0o644); err != nil {
		return fmt.Errorf("write the manual: %w", err)
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			if err := write(folder, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// name is that of the page, such as rmq-dead-requeue.
func name(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

func page(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	section := func(title, text string) {
		if text = strings.Trim(text, "\n"); text != "" {
			fmt.Fprintf(&b, ".SH %s\n.nf\n%s\n.fi\n", title, escaped(text))
		}
	}
	fmt.Fprintf(&b, ".TH \"%s\" 1 \"\" \"%s %s\" \"RMQ\"\n", strings.ToUpper(name(cmd)), cmd.Root().Name(), version.Number)
	section("NAME", name(cmd)+" - "+cmd.Short)
	section("SYNOPSIS", cmd.UseLine())
	section("DESCRIPTION", cmd.Long)
	section("EXAMPLES", cmd.Example)
	section("OPTIONS", cmd.NonInheritedFlags().FlagUsagesWrapped(80))
	section("OPTIONS OF ALL COMMANDS", cmd.InheritedFlags().FlagUsagesWrapped(80))
	var also []string
	if cmd.HasParent() {
		also = append(also, name(cmd.Parent())+"(1)")
	}
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			also = append(also, name(c)+"(1)")
		}
	}
	section("SEE ALSO", strings.Join(also, "\n"))
	return b.String()
}

// escaped is a text in which roff sees nothing to do.
func escaped(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
