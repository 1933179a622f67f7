package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// halted is what a long command returns that did not come to its end: why it stopped, how
// far it got, and with which command to go on.
func (a *app) halted(ctx context.Context, err error, far, goOn string) error {
	if ctx.Err() != nil {
		return &failure{fmt.Errorf("interrupted; %s; go on with: %s", far, goOn), interrupted}
	}
	line, _ := a.explain(err)
	return failed("%s; %s; go on with: %s", line, far, goOn)
}

// again is the present command as a person would type it. The flags in instead have that
// value, and are left out if it is empty.
func again(cmd *cobra.Command, args []string, instead map[string]string) string {
	var words, flags []string
	dashes := func(arg string) bool { return strings.HasPrefix(arg, "-") && arg != "-" }
	for _, arg := range args {
		words = append(words, quoted(arg))
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		value, other := instead[f.Name]
		if !other && f.Changed {
			value = f.Value.String()
			if list, ok := f.Value.(pflag.SliceValue); ok {
				value = strings.Join(list.GetSlice(), ",")
			}
		}
		switch {
		case value == "":
		case f.Value.Type() == "bool":
			flags = append(flags, "--"+f.Name+"="+value)
		case f.Name == "redis", f.Name == "zk-auth":
			flags = append(flags, "--"+f.Name+"="+quoted(withoutPassword(value)))
		default:
			flags = append(flags, "--"+f.Name+"="+quoted(value))
		}
	})
	if slices.ContainsFunc(args, dashes) {
		words = slices.Concat(flags, []string{"--"}, words)
	} else {
		words = append(words, flags...)
	}
	line := cmd.CommandPath() + " " + strings.Join(words, " ")
	return strings.ReplaceAll(line, "=true", "")
}

// withoutPassword replaces the password of user:password, or of a URL with one, by stars:
// what is printed may be kept in a log.
func withoutPassword(login string) string {
	begin := 0
	if i := strings.Index(login, "://"); i >= 0 {
		begin = i + len("://")
	}
	end := strings.LastIndexByte(login, '@')
	if end < 0 && begin == 0 {
		end = len(login)
	}
	if colon := strings.IndexByte(login[begin:max(begin, end)], ':'); colon >= 0 {
		return login[:begin+colon+1] + "***" + login[end:]
	}
	return login
}

// quoted is a word as a shell reads it.
func quoted(word string) string {
	harmless := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:@%+=,", r)
	}
	switch {
	case word == "-", word != "" && strings.Trim(word, "-_./:@%+=,") != "" && !strings.ContainsFunc(word, func(r rune) bool { return !harmless(r) }):
		return word
	case legible("."+word+".") == "."+word+".":
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	var b strings.Builder // as bash, zsh and ksh read it
	b.WriteString("$'")
	for _, c := range []byte(word) {
		switch {
		case c == '\'' || c == '\\':
			b.WriteString(`\` + string(rune(c)))
		case c >= ' ' && c < 0x7f:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	return b.String() + "'"
}
