package commands

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/words"
)

// halted is the error of a long command that was stopped: why it stopped, how far it got,
// and the command that goes on, if there is anything left to do. Typing the same command
// again would not be the same: --limit counts what is done already, and an age moves on.
func (a *app) halted(ctx context.Context, err error, far, goOn string) error {
	if goOn == "" {
		far += "; that is all that --limit allows"
	} else {
		far += "; go on with: " + goOn
	}
	return a.ended(ctx, err, far)
}

// ended is such an error; far says how far the command got.
func (a *app) ended(ctx context.Context, err error, far string) error {
	line, _ := a.explain(err)
	switch {
	case ctx.Err() == nil:
		return failed("%s; %s", line, far)
	case !errors.Is(err, ctx.Err()): // it did not end for that alone
		far = line + "; " + far
	}
	return &failure{fmt.Errorf("interrupted; %s", far), interrupted}
}

// rest is the command that goes on with the same dead messages, or empty if the limit is
// reached.
func (f *deadFilter) rest(cmd *cobra.Command, args []string, q inspector.DeadQuery, done int) string {
	flags := f.same(q, done)
	if flags == nil {
		return ""
	}
	return again(cmd, args, flags)
}

// unsure says how many are uncertain, since an answer was lost.
func unsure(lost int, done string) string {
	if lost == 0 {
		return ""
	}
	return fmt.Sprintf(", and up to %s more may be %s, since the answer is lost", words.Grouped(lost), done)
}

// again is the present command as you would type it. The flags in instead have that value,
// and are left out if it is empty.
func again(cmd *cobra.Command, args []string, instead map[string]string) string {
	var plain, flags []string
	dashes := func(arg string) bool { return strings.HasPrefix(arg, "-") && arg != "-" }
	for _, arg := range args {
		plain = append(plain, words.Quoted(arg))
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
		case f.Value.Type() == "stringArray": // given once for each
			for _, one := range f.Value.(pflag.SliceValue).GetSlice() {
				flags = append(flags, "--"+f.Name+"="+words.Quoted(one))
			}
		case f.Value.Type() == "bool" && value == "true":
			flags = append(flags, "--"+f.Name)
		case f.Name == "journal":
			flags = append(flags, "--"+f.Name+"="+words.Quoted(withoutSecrets(value)))
		case f.Name == "redis":
			flags = append(flags, "--"+f.Name+"="+words.Quoted(urlWithoutPassword(value)))
		case f.Name == "zk-auth":
			flags = append(flags, "--"+f.Name+"="+words.Quoted(withoutPassword(value)))
		default:
			flags = append(flags, "--"+f.Name+"="+words.Quoted(value))
		}
	})
	if slices.ContainsFunc(args, dashes) {
		plain = slices.Concat(flags, []string{"--"}, plain)
	} else {
		plain = append(plain, flags...)
	}
	return cmd.CommandPath() + " " + strings.Join(plain, " ")
}

// What is printed may be kept in a log: stars stand for passwords in it.
const hidden = "***"

// withoutPassword hides the password of user:password, in which it may hold any character.
func withoutPassword(login string) string {
	if user, _, both := strings.Cut(login, ":"); both {
		return user + ":" + hidden
	}
	return login
}

// urlWithoutPassword hides the passwords of a URL: the one before the hosts, and those in
// parameters, such as sentinel_password.
func urlWithoutPassword(text string) string {
	scheme, rest, found := strings.Cut(text, "://")
	if !found { // it may be anything
		return hidden
	}
	end := strings.IndexAny(rest, "/?#")
	if end < 0 {
		end = len(rest)
	}
	authority, rest := rest[:end], rest[end:]
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		authority = withoutPassword(authority[:at]) + authority[at:]
	}
	path, query, _ := strings.Cut(rest, "?")
	if query != "" {
		parameters := strings.Split(query, "&")
		for n, one := range parameters {
			name, _, _ := strings.Cut(one, "=")
			if plain, err := url.QueryUnescape(name); err != nil || strings.Contains(strings.ToLower(plain), "password") {
				parameters[n] = name + "=" + hidden
			}
		}
		query = "?" + strings.Join(parameters, "&")
	}
	return scheme + "://" + authority + path + query
}
