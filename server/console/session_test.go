package console

import (
	"net/http"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"github.com/slotmq/go-rmq/internal/testing/must"
)

// A cookie is worth nothing once its person has signed out, or has signed in anew; and each sign-in is a line in the log, also
// one with a wrong token.
func TestSignOutEndsTheSession(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	file, _, token := holder(t, "*")
	at, _ := open(t, func(c *Config) { c.Tokens, c.Logger = file, zap.New(core) })
	looks := func(cookie *http.Cookie) bool {
		return strings.Contains(textOf(t, as(t, cookie, http.MethodGet, at).Body), "Sign out")
	}
	if looks(&http.Cookie{Name: "rmq_session", Value: token}) {
		t.Error("the token itself is a cookie")
	}
	ann, again := signedIn(t, at, token), signedIn(t, at, token)
	if !looks(ann) || !looks(again) {
		t.Error("ann has not signed in")
	}
	as(t, ann, http.MethodPost, at+"signout")
	if looks(ann) || !looks(again) {
		t.Error("not exactly the session that was signed out has ended")
	}
	res, err := http.PostForm(at+"signin", map[string][]string{"token": {"wrong"}})
	must.Do(t, err)
	must.Do(t, res.Body.Close())
	var lines []string
	for _, line := range logs.All() {
		if f := line.ContextMap(); line.Message == "console" {
			lines = append(lines, strings.TrimSpace(strings.Join([]string{line.Level.String(), f["by"].(string), f["from"].(string), f["what"].(string)}, " ")))
			if strings.Contains(line.Message, token) || f["topic"] != nil {
				t.Error(f)
			}
		}
	}
	want := "info ann 127.0.0.1 sign in, info ann 127.0.0.1 sign in, info ann 127.0.0.1 sign out, warn anyone 127.0.0.1 sign in"
	if got := strings.Join(lines, ", "); got != want {
		t.Errorf("logged %s\nnot    %s", got, want)
	}
}
