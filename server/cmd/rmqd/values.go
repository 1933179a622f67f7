package main

import (
	"errors"
	"net/netip"
	"strings"
)

// The values of flags.

// texts are those of a flag that may be repeated.
type texts []string

func (t *texts) Set(text string) error { *t = append(*t, text); return nil }
func (t *texts) String() string        { return strings.Join(*t, ", ") }

// prefixes are those of a flag that may be repeated.
type prefixes []netip.Prefix

func (l *prefixes) Set(text string) error {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return errors.New("not addresses such as 10.1.0.0/16 or fd00::/8")
	}
	*l = append(*l, p)
	return nil
}

func (l *prefixes) String() string {
	all := make([]string, len(*l))
	for i, p := range *l {
		all[i] = p.String()
	}
	return strings.Join(all, ", ")
}

// headerName is the name of a header of HTTP.
type headerName string

func (h *headerName) Set(text string) error {
	// The characters of a token in RFC 9110, 5.6.2: no client can send a header of another name.
	other := func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("!#$%&'*+-.^_`|~", r))
	}
	if text == "" || strings.ContainsFunc(text, other) {
		return errors.New("not the name of a header, such as X-Forwarded-User: letters, digits and -")
	}
	*h = headerName(text)
	return nil
}

func (h *headerName) String() string { return string(*h) }
