package redisurl

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// works sets a key through the client of a URL.
func works(url string) error {
	rdb, err := Open(url)
	if err != nil {
		return err
	}
	defer rdb.Close()
	return rdb.Set(context.Background(), "k", "v", 0).Err()
}

// nobody is a first host at which no server listens.
const nobody = "127.0.0.1:1,"

func join(servers []*servertest.Server) string {
	addrs := make([]string, len(servers))
	for i, s := range servers {
		addrs[i] = s.Addr()
	}
	return strings.Join(addrs, ",")
}

func TestOneServer(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t, "--requirepass", "se/cr?t@", "--unixsocket", "s.sock")
	socket := filepath.Join(server.Dir, "s.sock")
	const login = ":se%2Fcr%3Ft@"
	for _, url := range []string{
		"redis://" + login + "@" + server.Addr() + "/3", "unix://default" + login + "@" + socket + "?db=3",
	} {
		if err := works(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
	rdb := server.Client(t)
	if keys, err := rdb.Info(context.Background(), "keyspace").Result(); err != nil || !strings.Contains(keys, "db3:keys=1") || strings.Contains(keys, "db0:") {
		t.Errorf("%s %v", keys, err)
	}
	if err := works("redis://" + server.Addr()); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("without a password: %v", err)
	}
}

// The roots are those of the system, which Go lets SSL_CERT_FILE name. (They are
// read once in a process, so this test stands alone.)
func TestTLS(t *testing.T) {
	known, stranger := servertest.TLS(t), servertest.TLS(t)
	t.Setenv("SSL_CERT_FILE", filepath.Join(known.Dir, "cert.pem"))
	if err := works("rediss://:secret@" + known.Addr()); err != nil {
		t.Error(err)
	}
	if err := works("rediss://:secret@" + stranger.Addr() + "?max_retries=-1"); err == nil || !strings.Contains(err.Error(), "certificate signed by unknown authority") {
		t.Errorf("a certificate nobody knows: %v", err)
	}
	if err := works("rediss://:secret@" + stranger.Addr() + "?skip_verify=true"); err != nil {
		t.Error(err)
	}
	if err := works("redis://:secret@" + known.Addr() + "?max_retries=-1"); err == nil {
		t.Error("it works without TLS")
	}
}

func TestSentinel(t *testing.T) {
	t.Parallel()
	group := servertest.Sentinel(t, "--requirepass", "secret")
	for _, s := range group.Sentinels() {
		if err := s.Client(t).Do(context.Background(), "acl", "setuser", "watch", "on", ">other", "&*", "+@all").Err(); err != nil {
			t.Fatal(err)
		}
		if err := s.Client(t).Do(context.Background(), "acl", "setuser", "default", "off").Err(); err != nil {
			t.Fatal(err)
		}
	}
	url := "redis-sentinel://:secret@" + nobody + join(group.Sentinels()) + "/3?master_name=mymaster"
	if err := works(url + "&sentinel_username=watch&sentinel_password=other"); err != nil {
		t.Error(err)
	}
	if v, err := group.Nodes()[0].Client(t).Do(context.Background(), "info", "keyspace").Text(); err != nil || !strings.Contains(v, "db3:keys=1") {
		t.Errorf("%s %v", v, err)
	}
	if err := works(url + "&max_retries=-1&dialer_retries=1"); err == nil || !strings.Contains(err.Error(), "NOAUTH") {
		t.Errorf("without the Sentinels' password: %v", err)
	}
}

func TestCluster(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 3, 0, "--requirepass", "secret")
	rdb, err := Open("redis-cluster://default:secret@" + nobody + join(cluster.Nodes()))
	if err != nil {
		t.Fatal(err)
	}
	defer rdb.Close()
	for i := range 30 {
		if err := rdb.Set(context.Background(), fmt.Sprint("k", i), "v", 0).Err(); err != nil {
			t.Error(err)
		}
	}
}
