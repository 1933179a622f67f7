package redisurl

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Open returns a client for the URL. The caller closes it.
func Open(text string) (redis.UniversalClient, error) {
	a, err := parse(text)
	if err != nil {
		return nil, err
	}
	switch a.kind {
	case "redis", "unix":
		return a.single()
	case "redis-sentinel":
		return a.sentinel()
	}
	return a.cluster()
}

// A queue must not read from replicas: it would not see what was just written.
var ofReplicas = []string{
	"read_only", "replica_only", "route_by_latency", "route_by_latency_tolerance", "route_randomly", "use_disconnected_replicas",
}

func (a *address) single() (redis.UniversalClient, error) {
	if len(a.hosts) > 1 {
		return nil, errors.New("redis:// names one server; for several write redis-cluster:// or redis-sentinel://")
	}
	o, err := redis.ParseURL(a.plain())
	if err != nil {
		return nil, tidy(err)
	}
	if o.DB < 0 {
		return nil, errors.New("the database number is negative")
	}
	o.Username, o.Password = a.user, a.password
	a.secure(o.TLSConfig)
	return redis.NewClient(o), nil
}

func (a *address) sentinel() (redis.UniversalClient, error) {
	take := func(name string) string {
		value := a.query.Get(name)
		a.query.Del(name)
		return value
	}
	user, password := take("sentinel_username"), take("sentinel_password")
	if err := a.refuse(append(ofReplicas, "username", "password", "addr")); err != nil {
		return nil, err
	}
	if a.query.Get("master_name") == "" {
		return nil, errors.New("the name of the master is missing: redis-sentinel://host:26379?master_name=mymaster")
	}
	o, err := redis.ParseFailoverURL(a.plain())
	if err != nil {
		return nil, tidy(err)
	}
	if o.DB < 0 {
		return nil, errors.New("the database number is negative")
	}
	o.SentinelAddrs = a.hosts
	o.Username, o.Password, o.SentinelUsername, o.SentinelPassword = a.user, a.password, user, password
	a.secure(o.TLSConfig)
	return redis.NewFailoverClient(o), nil
}

func (a *address) cluster() (redis.UniversalClient, error) {
	if err := a.refuse(append(ofReplicas, "username", "password", "addr")); err != nil {
		return nil, err
	}
	if a.path != "" && a.path != "/" && a.path != "/0" {
		return nil, errors.New("a Cluster has database 0 only; leave out what follows the last host")
	}
	o, err := redis.ParseClusterURL(a.plain())
	if err != nil {
		return nil, tidy(err)
	}
	o.Addrs = a.hosts
	o.Username, o.Password = a.user, a.password
	a.secure(o.TLSConfig)
	return redis.NewClusterClient(o), nil
}

// plain is a URL as go-redis takes it: with one host, and without any secret that its
// errors could repeat.
func (a *address) plain() string {
	scheme := "redis"
	switch {
	case a.kind == "unix":
		scheme = "unix"
	case a.tls:
		scheme = "rediss"
	}
	host := ""
	if len(a.hosts) > 0 {
		host = a.hosts[0]
	}
	return (&url.URL{Scheme: scheme, Host: host, Path: a.path, RawQuery: a.query.Encode()}).String()
}

// secure completes what go-redis makes of rediss. Of several servers each is to
// prove its own address, not that of the first.
func (a *address) secure(t *tls.Config) {
	if t == nil {
		return
	}
	t.MinVersion, t.InsecureSkipVerify = tls.VersionTLS12, a.anyCertificate
	if a.kind != "redis" {
		t.ServerName = ""
	}
}

// refuse names the first parameter that must not be there.
func (a *address) refuse(names []string) error {
	for _, name := range names {
		if !a.query.Has(name) {
			continue
		}
		switch {
		case slices.Contains(ofReplicas, name):
			return fmt.Errorf("%s would read from replicas, which know too little for a queue; leave it out", name)
		case name == "addr":
			return errors.New("further hosts stand beside the first, with commas between, not in addr")
		}
		return fmt.Errorf("%s stands before the hosts, as user:password@, not among the parameters", name)
	}
	return nil
}

// tidy takes the prefix from an error of go-redis.
func tidy(err error) error {
	text, was := strings.CutPrefix(err.Error(), "redis: ")
	if was {
		return errors.New(text)
	}
	return errors.New("it cannot be read") // url.Parse repeats what it was given
}
