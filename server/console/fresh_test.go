package console

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/testing/must"
)

// A message and the dead are read when someone asks for them, although they were read just before.
func TestAskedForIsReadThen(t *testing.T) {
	t.Parallel()
	at, server := open(t, nil)
	reads := func(page, want string) {
		t.Helper()
		if _, text := get(t, at+page); !strings.Contains(text, want) {
			t.Errorf("%s does not say %q: %s", page, want, text)
		}
	}
	dead := protocol.KeysOf("orders", 1).Dead
	must.Do(t, server.Client(t).ZAdd(ctx, dead, z("order 7", time.Now())).Err())
	reads("message?topic=orders&content=order+7", "In slot 1")
	reads("dead?topic=orders", "1 dead message ")
	must.Do(t, server.Client(t).Del(ctx, dead).Err())
	reads("message?topic=orders&content=order+7", "The message is not here")
	reads("dead?topic=orders", "0 dead messages")
}

// A person who has changed something sees it on all pages, although they were read just
// before.
func TestChangedIsReadThen(t *testing.T) {
	t.Parallel()
	at, _ := open(t, func(cfg *Config) { cfg.Act = true })
	pages := []string{"", "topic?topic=orders"}
	for _, page := range pages {
		get(t, at+page)
	}
	stays := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := stays.PostForm(at+"pause", url.Values{"topic": {"orders"}, "all": {"1"}})
	must.Do(t, err)
	must.Do(t, res.Body.Close())
	for _, page := range pages {
		if _, text := get(t, at+page); !strings.Contains(text, "8 slots paused") {
			t.Errorf("%q does not say that it is paused: %s", page, text)
		}
	}
}
