package webhook

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
)

// block is a piece of code in docs/WEBHOOKS.md.
func block(t testing.TB, language string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/WEBHOOKS.md")
	must.Do(t, err)
	_, rest, found := strings.Cut(string(text), "```"+language+"\n")
	code, _, ends := strings.Cut(rest, "```")
	if !found || !ends {
		t.Fatalf("docs/WEBHOOKS.md has no %s", language)
	}
	return code
}

// The function of the documents accepts what is sent, whatever it holds, and nothing that was changed.
func TestVerifiedByPython(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	l, _ := listenerTo(t, r.URL, func(t *Target) { t.Secrets = []string{secret, exampleSecret} })
	d := delivery("a\r\n\x00\xff{\"order\": 4711}")
	must.Do(t, l.OnMessage(ctx, d))
	q := r.next(t)
	type call struct {
		Headers      map[string]string
		Body, Secret string // the body in base64
	}
	var calls []call
	headers := func(change ...string) map[string]string {
		h := map[string]string{}
		for _, name := range []string{"webhook-id", "webhook-timestamp", "webhook-signature"} {
			h[name] = q.Get(name)
		}
		for i := 0; i < len(change); i += 2 {
			h[change[i]] = change[i+1]
		}
		return h
	}
	base := func(body string) string { return strings.TrimPrefix(secretOf(body), secretPrefix) }
	calls = append(calls,
		call{headers(), base(q.body), secret}, call{headers(), base(q.body), exampleSecret},
		call{headers(), base(q.body + " "), secret}, call{headers(), base(q.body), secretOf(strings.Repeat("other", 6))},
		call{headers("webhook-id", "x"), base(q.body), secret}, call{headers("webhook-timestamp", "1614265330"), base(q.body), secret},
		call{headers("webhook-timestamp", "1614265330", "webhook-signature", (*l.keys.Load()).sign(q.Get("webhook-id"), time.Unix(1614265330, 0), q.body)), base(q.body), secret},
	)
	input, err := json.Marshal(calls)
	must.Do(t, err)
	python := exec.Command("python3", "-c", block(t, "python")+`
import json, sys
print([verify(c["Headers"], base64.b64decode(c["Body"]), c["Secret"]) for c in json.load(sys.stdin)])
`)
	python.Stdin = strings.NewReader(string(input))
	out, err := python.CombinedOutput()
	if want := "[True, True, False, False, False, False, False]\n"; err != nil || string(out) != want {
		t.Errorf("%v: %s, and not %s", err, out, want)
	}
}

// The file of the documents can be read.
func TestFileOfTheDocuments(t *testing.T) {
	t.Parallel()
	dir := folder(t, map[string]string{"push.json": block(t, "json"), "secret": secret})
	all, err := Load(filepath.Join(dir, "push.json"))
	if err != nil || len(all) != 2 {
		t.Errorf("%v, %v", all, err)
	}
}
