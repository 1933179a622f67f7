package frame

import (
	"net/url"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/slotmq/go-rmq/internal/words"
)

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
