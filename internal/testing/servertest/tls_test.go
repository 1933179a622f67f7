package servertest

import (
	"crypto/x509"
	"testing"

	"github.com/redis/go-redis/v9"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	srv := TLS(t, "--requirepass", "other", "--appendonly", "yes", "--appendfsync", "always")
	rdb := srv.Client(t)
	if err := rdb.Set(t.Context(), "k", "v", 0).Err(); err != nil {
		t.Fatal(err)
	}
	for what, spoil := range map[string]func(*redis.Options){
		"TLS":          func(o *redis.Options) { o.TLSConfig = nil },
		"the password": func(o *redis.Options) { o.Password = "" },
		"trust":        func(o *redis.Options) { o.TLSConfig.RootCAs = x509.NewCertPool() },
	} {
		if err := srv.Client(t, impatient, spoil).Ping(t.Context()).Err(); err == nil {
			t.Errorf("answered without %s", what)
		}
	}
	srv.Kill()
	srv.Restart(t)
	wantValue(t, srv.Client(t), "k", "v")
	if Redis(t).TLSConfig() != nil {
		t.Error("a server without TLS has a TLSConfig")
	}
}
