package gateway

import (
	"io"
	"strconv"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/server/gateway/internal/request"
)

// A program that shuts down its half of the connection counts as gone. Its message is not sent, so it must not read 200.
func TestHalfClosed(t *testing.T) {
	t.Parallel()
	server := servertest.Redis(t)
	proxy := servertest.NewProxy(t, server.Addr())
	s := siteOn(t, proxy.Client(t), func(c *Config) { c.SDMQ = true })
	for path, body := range map[string]string{
		"/v1/topics/orders/messages": `{"content":"a","priority":20,"kind":"priority","slots":1}`,
		"/push":                      `{"topic":"jobs","body":"a"}`,
	} {
		proxy.DropReplies(true)
		conn := s.dial()
		_, err := io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Type: "+request.JSON+"\r\nContent-Length: "+strconv.Itoa(len(body))+"\r\n\r\n"+body)
		must.Do(t, err)
		must.Do(t, conn.CloseWrite())
		answer, err := io.ReadAll(conn)
		must.Do(t, err)
		if len(answer) > 0 {
			t.Errorf("%s: %s", path, answer)
		}
		proxy.DropReplies(false)
	}
}
