package main

import (
	"errors"
	"net/netip"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/humantime"
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

// span is a length of time: 90s, 1h30m.
type span time.Duration

func (s *span) Set(text string) error {
	d, err := humantime.ParseSpan(text)
	*s = span(d)
	return err
}

func (s *span) String() string {
	if *s == 0 { // or the help would call it a default
		return ""
	}
	return time.Duration(*s).String()
}
