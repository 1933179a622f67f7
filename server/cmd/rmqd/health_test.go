package main

import (
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// health shows by its exit code whether a service can do its work, and says why it
// cannot.
func TestHealth(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	s := serve(t, server.Addr())
	ready, live := []string{"health", s.url + "/readyz"}, []string{"health", s.url + "/livez"}
	await.True(t, "it is well", func() bool { r := call(ready...); return r.code == 0 && r.out == "" })
	server.Kill()
	await.True(t, "it is not ready", func() bool { return call(ready...).code == 1 })
	await.True(t, "it says why", func() bool { return strings.Contains(call(ready...).errs, "503 Service Unavailable") })
	await.True(t, "it lives", func() bool { return call(live...).code == 0 })
	nobody := []string{"health", "http://" + servertest.Nobody(t)}
	failsWith(t, call(nobody...), 1, nobody, "connection refused")
	wrong := []string{"health", "http://%"}
	failsWith(t, call(wrong...), 2, wrong, "invalid URL")
}
