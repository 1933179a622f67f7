package redisurl

import (
	"crypto/tls"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// What a URL comes to, in words.
func told(t *testing.T, rdb redis.UniversalClient) string {
	t.Helper()
	secure := func(c *tls.Config) string {
		if c == nil {
			return "plain"
		}
		if c.MinVersion < tls.VersionTLS12 {
			t.Error("an old TLS would do")
		}
		return fmt.Sprintf("TLS %s %t", c.ServerName, !c.InsecureSkipVerify)
	}
	switch c := rdb.(type) {
	case *redis.Client:
		o := c.Options()
		return fmt.Sprintf("%s %s %s:%s %d %s", o.Network, o.Addr, o.Username, o.Password, o.DB, secure(o.TLSConfig))
	case *redis.ClusterClient:
		o := c.Options()
		return fmt.Sprintf("cluster %v %s:%s %s", o.Addrs, o.Username, o.Password, secure(o.TLSConfig))
	}
	return fmt.Sprintf("%T", rdb)
}

func TestOpen(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"redis://h":                 "tcp h:6379 : 0 plain",
		"redis://h:1/":              "tcp h:1 : 0 plain",
		"redis://user:s3cret@h:1/3": "tcp h:1 user:s3cret 3 plain",
		"redis://:s3cret@h/3":       "tcp h:6379 :s3cret 3 plain",
		"redis://h?db=4":            "tcp h:6379 : 4 plain",
		"redis://u%40x:s3%2F%3F%23%25%3A%40:@cret@h": "tcp h:6379 u@x:s3/?#%:@:@cret 0 plain",
		"redis://[::1]":                              "tcp [::1]:6379 : 0 plain",
		"redis://[::1]:1/2":                          "tcp [::1]:1 : 2 plain",
		"rediss://u:p@h/1":                           "tcp h:6379 u:p 1 TLS h true",
		"rediss://h?skip_verify=true":                "tcp h:6379 : 0 TLS h false",
		"rediss://h?skip_verify=false":               "tcp h:6379 : 0 TLS h true",
		"unix:///run/redis.sock":                     "unix /run/redis.sock : 0 plain",
		"unix://u:p@/run/redis.sock?db=3":            "unix /run/redis.sock u:p 3 plain",
		"redis-cluster://u:p@h,i:7,[::1]:8":          "cluster [h:6379 i:7 [::1]:8] u:p plain",
		"redis-cluster://h/0":                        "cluster [h:6379] : plain",
		"rediss-cluster://:p@h,i?skip_verify=1":      "cluster [h:6379 i:6379] :p TLS  false",
		"rediss-cluster://h,i":                       "cluster [h:6379 i:6379] : TLS  true",
		"redis-sentinel://u:p@h,i:7/3?master_name=m": "tcp FailoverClient u:p 3 plain",
		"rediss-sentinel://h/?master_name=m":         "tcp FailoverClient : 0 TLS  true",
	} {
		rdb, err := Open(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if got := told(t, rdb); got != want {
			t.Errorf("%s: %s, not %s", url, got, want)
		}
		_ = rdb.Close()
	}
}

// The forms that users read of.
func TestDocumentedForms(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../docs/DEPLOYMENT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, forms, found := strings.Cut(string(text), "\n```\nredis://")
	forms, _, _ = strings.Cut("redis://"+forms, "\n```")
	lines := strings.Fields(forms)
	if !found || len(lines) != 5 {
		t.Fatalf("the document has the forms %q", lines)
	}
	for _, url := range append(lines, strings.Replace(lines[3], "redis", "rediss", 1), strings.Replace(lines[4], "redis", "rediss", 1)) {
		rdb, err := Open(url)
		if err != nil {
			t.Errorf("%s: %v", url, err)
			continue
		}
		if got := told(t, rdb); !strings.Contains(got, "user:password") {
			t.Errorf("%s: %s", url, got)
		}
		_ = rdb.Close()
	}
}

func TestParametersAreThoseOfTheClient(t *testing.T) {
	t.Parallel()
	one, err := Open("redis://h?pool_size=7&read_timeout=2s&client_name=a%40b")
	if err != nil {
		t.Fatal(err)
	}
	defer one.Close()
	if o := one.(*redis.Client).Options(); o.PoolSize != 7 || o.ReadTimeout != 2*time.Second || o.ClientName != "a@b" {
		t.Errorf("%+v", o)
	}
	many, err := Open("redis-cluster://h?max_redirects=5")
	if err != nil {
		t.Fatal(err)
	}
	defer many.Close()
	if o := many.(*redis.ClusterClient).Options(); o.MaxRedirects != 5 {
		t.Errorf("%+v", o)
	}
}

// Errors say what is wrong, and keep the password to themselves.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for url, says := range map[string]string{
		"":                                      "does not begin with redis://, ",
		"s3cret":                                "does not begin with",
		"h:6379":                                "does not begin with",
		"user:s3cret@h:6379":                    "does not begin with",
		"redis:/h":                              "does not begin with",
		"http://u:s3cret@h":                     "does not begin with",
		"redisss://u:s3cret@h":                  "does not begin with",
		"redis://u:s3cret@h\n":                  "a space, a line end",
		"redis://u:s3 cret@h":                   "a space, a line end",
		"redis://s3cret@h":                      "a user and no password",
		"redis://s3cret:@h":                     "a user and no password",
		"redis://u:%s3cret@h":                   "a % in the user or password",
		"redis://%zs3cret:p@h":                  "a % in the user or password",
		"redis://u:1/s3cret@h":                  "write / as %2F",
		"redis://u:s3/cret@h":                   "write / as %2F",
		"redis://u:1?s3cret@h":                  "? as %3F",
		"redis://u:1#s3cret@h":                  "# as %23",
		"redis://u:p@ss/s3cret@h":               "write / as %2F",
		"redis://u:p@ss?s3cret@h":               "? as %3F",
		"redis://u:p@ss?s3cret=1@h/1":           "? as %3F",
		"redis://u:p@ss#s3cret@h":               "# as %23",
		"redis-cluster://u:p@ss/s3cret@h":       "write / as %2F",
		"redis-sentinel://u:p@ss?s3cret@h":      "? as %3F",
		"unix://u:p@ss/s3cret@/run/x":           "write / as %2F",
		"redis://u:s3cret@h/1#x":                "there is a #",
		"redis://u:s3cret@":                     "host 1 is empty",
		"redis://u:s3cret@:6379":                "host 1 is empty",
		"redis://u:s3cret@h:x":                  "the port of host 1 is not a number",
		"redis-cluster://u:s3cret@h,i:0":        "the port of host 2 is not a number",
		"redis-cluster://h,i:65536":             "the port of host 2 is not a number",
		"redis-cluster://h,,i":                  "host 2 is empty",
		"redis://::1":                           "write an IPv6 address in brackets",
		"redis://u:s3cret@h,i":                  "names one server; for several",
		"redis://u:s3cret@h/x":                  `invalid database number: "x"`,
		"redis://u:s3cret@h/-1":                 "the database number is negative",
		"redis-sentinel://h/-1?master_name=m":   "the database number is negative",
		"redis://h/%zz":                         "a % in the path",
		"redis://h/1/2":                         "invalid URL path: /1/2",
		"redis://h?a=%zz":                       "the parameters behind the ? cannot be read",
		"redis://h?a;b":                         "the parameters behind the ? cannot be read",
		"redis://h?pool_siez=1":                 "unexpected option: pool_siez",
		"redis://h?pool_size=many":              "invalid pool_size number",
		"redis://h?password=s3cret":             "unexpected option: password",
		"redis://h?skip_verify=true":            "skip_verify is about TLS",
		"rediss://h?skip_verify=maybe":          "skip_verify is neither true nor false",
		"unix://":                               "empty unix socket path",
		"unix://run/redis.sock":                 "write unix:///path",
		"redis-cluster://u:s3cret@h/3":          "a Cluster has database 0 only",
		"redis-cluster://h?db=3":                "unexpected option: db",
		"redis-cluster://h?read_only=true":      "read_only would read from replicas",
		"redis-cluster://h?route_randomly=true": "route_randomly would read from replicas",
		"redis-cluster://h?addr=i:1":            "not in addr",
		"redis-cluster://h?password=s3cret":     "password stands before the hosts",
		"redis-sentinel://u:s3cret@h":           "the name of the master is missing",
		"redis-sentinel://h?master_name=m&route_by_latency=true":       "route_by_latency would read from replicas",
		"redis-sentinel://h?master_name=m&username=u&password=s3cret":  "username stands before the hosts",
		"redis-sentinel://h?master_name=m&sentinel_password=s3cret&x=": "unexpected option: x",
		"redis-sentinel://u:s3cret@h/x?master_name=m":                  `invalid database number: "x"`,
	} {
		rdb, err := Open(url)
		if err == nil {
			_ = rdb.Close()
		}
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q: %v, want %q", url, err, says)
			continue
		}
		if strings.Contains(err.Error(), "s3") || strings.Contains(err.Error(), "cret") {
			t.Errorf("%q: the error tells the password: %v", url, err)
		}
	}
}
