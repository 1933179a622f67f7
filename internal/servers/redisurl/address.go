package redisurl

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// address is a URL taken apart. The standard library's parser does not do: it
// takes one host, and its errors repeat what may be a password.
type address struct {
	kind           string // the scheme, without the s for TLS
	tls            bool
	anyCertificate bool
	user, password string
	hosts          []string // host:port, none for a socket
	path           string
	query          url.Values
}

const schemes = "redis://, rediss://, unix://, redis-sentinel://, rediss-sentinel://, redis-cluster:// or rediss-cluster://"

func parse(text string) (*address, error) {
	if strings.ContainsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }) {
		return nil, errors.New("it contains a space, a line end or another control character")
	}
	scheme, rest, found := strings.Cut(text, "://")
	a := &address{kind: scheme}
	if kind, secure := strings.CutPrefix(scheme, "rediss"); secure {
		a.kind, a.tls = "redis"+kind, true
	}
	if !found || !slices.Contains([]string{"redis", "unix", "redis-sentinel", "redis-cluster"}, a.kind) {
		return nil, errors.New("it does not begin with " + schemes)
	}
	authority, rest := rest, ""
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		authority, rest = authority[:end], authority[end:]
	}
	if strings.ContainsRune(rest, '@') { // what stands before it may be the end of a password, which nothing below may repeat
		return nil, errors.New("there is an @ behind the hosts; in a user or password write / as %2F, ? as %3F, # as %23, and @ elsewhere as %40")
	}
	hosts := authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		hosts = authority[at+1:]
		if err := a.login(authority[:at]); err != nil {
			return nil, err
		}
	}
	if strings.ContainsRune(rest, '#') {
		return nil, errors.New("there is a #; write it as %23")
	}
	if err := a.setHosts(hosts); err != nil {
		return nil, err
	}
	path, query, _ := strings.Cut(rest, "?")
	var err error
	if a.path, err = url.PathUnescape(path); err != nil {
		return nil, errors.New("a % in the path is not followed by two hexadecimal digits")
	}
	if a.query, err = url.ParseQuery(query); err != nil {
		return nil, errors.New("the parameters behind the ? cannot be read; in them write % as %25, & as %26 and ; as %3B")
	}
	return a, a.setVerify()
}

// login reads user:password.
func (a *address) login(text string) error {
	user, password, both := strings.Cut(text, ":")
	if !both || password == "" {
		return errors.New("there is a user and no password; write user:password@, or :password@ for a password alone")
	}
	var err1, err2 error
	a.user, err1 = url.PathUnescape(user)
	a.password, err2 = url.PathUnescape(password)
	if err1 != nil || err2 != nil {
		return errors.New("a % in the user or password is not followed by two hexadecimal digits; write it as %25")
	}
	return nil
}

// setHosts reads hosts with commas between, each with or without a port.
func (a *address) setHosts(text string) error {
	if a.kind == "unix" {
		if text != "" {
			return errors.New("a socket has no host; write unix:///path, with three slashes")
		}
		return nil
	}
	port := "6379"
	if a.kind == "redis-sentinel" {
		port = "26379"
	}
	for i, one := range strings.Split(text, ",") {
		host, ownPort, err := net.SplitHostPort(one)
		if err != nil { // no port
			host, ownPort = strings.TrimSuffix(strings.TrimPrefix(one, "["), "]"), port
			if strings.Contains(host, ":") && host == one {
				return fmt.Errorf("host %d has more than one colon; write an IPv6 address in brackets, [::1]:%s", i+1, port)
			}
		}
		if host == "" {
			return fmt.Errorf("host %d is empty", i+1)
		}
		if n, err := strconv.Atoi(ownPort); err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("the port of host %d is not a number from 1 to 65535", i+1)
		}
		a.hosts = append(a.hosts, net.JoinHostPort(host, ownPort))
	}
	return nil
}

func (a *address) setVerify() error {
	if !a.query.Has("skip_verify") {
		return nil
	}
	if !a.tls {
		return errors.New("skip_verify is about TLS; begin with rediss, or leave it out")
	}
	var err error
	if a.anyCertificate, err = strconv.ParseBool(a.query.Get("skip_verify")); err != nil {
		return errors.New("skip_verify is neither true nor false")
	}
	a.query.Del("skip_verify")
	return nil
}
