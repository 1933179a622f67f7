package frame

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/slotmq/go-rmq/internal/text/words"
)

// Halted is the error of a long command that was stopped: why it stopped, how far it got,
// and the command that goes on, if there is anything left to do. Typing the same command
// again would not be the same: --limit counts what is done already, and an age moves on.
func (c *Call) Halted(ctx context.Context, err error, far, goOn string) error {
	if goOn == "" {
		return c.Ended(ctx, err, far+"; that is all that --limit allows")
	}
	return c.Ended(ctx, err, far+"; go on with: "+goOn)
}

// Ended is such an error; far says how far the command got.
func (c *Call) Ended(ctx context.Context, err error, far string) error {
	line, _ := c.Explain(err)
	switch {
	case ctx.Err() == nil:
		return Failed("%s; %s", line, far)
	case !errors.Is(err, ctx.Err()): // it did not end for that alone
		far = line + "; " + far
	}
	return &Error{Err: fmt.Errorf("interrupted; %s", far), Code: Interrupted}
}

// Again is the present command as you would type it. The flags in instead have that value,
// and are left out if it is empty.
func (c *Call) Again(instead map[string]string) string {
	var plain, flags []string
	dashes := func(arg string) bool { return strings.HasPrefix(arg, "-") && arg != "-" }
	for _, arg := range c.Args {
		plain = append(plain, words.Quoted(arg))
	}
	c.cmd.Flags().VisitAll(func(f *pflag.Flag) {
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
		default:
			hide := map[string]func(string) string{"journal": withoutSecrets, "redis": urlWithoutPassword, "zk-auth": withoutPassword}[f.Name]
			if hide != nil {
				value = hide(value)
			}
			flags = append(flags, "--"+f.Name+"="+words.Quoted(value))
		}
	})
	if slices.ContainsFunc(c.Args, dashes) {
		plain = slices.Concat(flags, []string{"--"}, plain)
	} else {
		plain = append(plain, flags...)
	}
	return c.cmd.CommandPath() + " " + strings.Join(plain, " ")
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
