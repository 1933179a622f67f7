package webhook

import (
	"encoding/pem"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
)

// folder is a folder with some files, given by name and text.
func folder(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		must.Do(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

func TestLoad(t *testing.T) {
	t.Parallel()
	r := newReceiver(nil)
	r.StartTLS()
	defer r.Close()
	dir := folder(t, map[string]string{
		"push.json": `{"targets": [
			{"topic": "orders", "url": "https://shop.example/hooks", "secret_files": ["secrets"], "secrets": ["` + exampleSecret + `"],
			 "timeout": "10s", "concurrency": 7, "content_type": "application/json", "headers": {"Authorization": "Bearer 7"},
			 "allow": ["10.1.0.0/16", "fd00::/8"], "ca_file": "ca.pem", "proxy": "http://proxy.example:3128"},
			{"topic": "mails", "url": "http://localhost/", "allow_private": true, "allow_http": true, "secrets": ["` + secret + `"]}
		]}`,
		"secrets": "# the new one\n\n  " + secret + "  \r\n" + exampleSecret,
		"ca.pem":  string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw})),
	})
	all, err := Load(filepath.Join(dir, "push.json"))
	must.Do(t, err)
	a, b := all[0], all[1]
	if len(all) != 2 || a.Topic.Name != "orders" || a.URL != "https://shop.example/hooks" || a.Timeout != 10*time.Second || a.Concurrency != 7 ||
		a.ContentType != "application/json" || a.Headers["Authorization"] != "Bearer 7" || a.Proxy != "http://proxy.example:3128" || a.AllowHTTP || a.AllowPrivate {
		t.Errorf("got %+v", a)
	}
	if len(a.Secrets) != 3 || a.Secrets[0] != exampleSecret || a.Secrets[1] != secret || a.Secrets[2] != exampleSecret {
		t.Errorf("secrets %q", a.Secrets)
	}
	if len(a.Allow) != 2 || a.Allow[0] != netip.MustParsePrefix("10.1.0.0/16") || a.Roots == nil {
		t.Errorf("allowed are %v, by %v", a.Allow, a.Roots)
	}
	if !b.AllowHTTP || !b.AllowPrivate || b.Roots != nil || b.Timeout != 0 || b.Shown() != "http://localhost" {
		t.Errorf("got %+v", b)
	}
}

// What is wrong in a file is said with its place or field, and nothing secret.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	const orders = `{"targets": [{"topic": "orders", "url": "https://shop.example/hush", "secret_files": ["secrets"]`
	for _, c := range []struct{ text, words string }{
		{``, "line 1: it ends too early"},
		{orders, "it ends too early"},
		{`[]`, "line 1: the file must be an object"},
		{"{\n\"targets\": {}}", "line 2: targets must be an array"},
		{`{"targets": []}`, "targets is empty: list at least one"},
		{`{}`, "targets is empty: list at least one"},
		{`{"target": []}`, `unknown field "target"`},
		{orders + ",\n\"timeuot\": \"3s\"}]}", `line 2: unknown field "timeuot"`},
		{orders + `}]} {}`, "there is more behind the object"},
		{orders + ",\n,}]}", "line 2: invalid character ','"},
		{orders + `, "timeout": 30}]}`, `timeout is 30; it must be a text such as "30s"`},
		{orders + `, "timeout": "3 hours"}]}`, `timeout is "3 hours"; it must be a text such as "30s"`},
		{orders + `, "timeout": "2h"}]}`, "targets[0].timeout is 2h0m0s"},
		{orders + `, "concurrency": 1.5}]}`, "targets.concurrency must be a whole number"},
		{orders + `, "concurrency": -1}]}`, "targets[0].concurrency is -1"},
		{orders + `, "allow_http": "yes"}]}`, "targets.allow_http must be true or false"},
		{orders + `, "headers": ["x"]}]}`, "targets.headers must be an object"},
		{orders + `, "headers": {"Host": "hush"}}]}`, "targets[0].headers.Host is set; it must be left out"},
		{orders + `, "content_type": "\n"}]}`, "targets[0].content_type"},
		{orders + `, "secrets": "hush"}]}`, "targets.secrets must be an array"},
		{orders + `, "secrets": ["hush"]}]}`, "targets[0].secrets[0] is no secret (not shown)"},
		{orders + `, "secret_files": ["none"]}]}`, "secret_files[0] of topic orders: open "},
		{orders + `, "secret_files": ["empty"]}]}`, "without a secret"},
		{orders + `, "secret_files": ["bad"]}]}`, "line 2 of "},
		{orders + `, "allow": ["10.0.0.1"]}]}`, `targets[0].allow[0] is "10.0.0.1"; it must be addresses such as`},
		{orders + `, "ca_file": "empty"}]}`, "without a certificate"},
		{orders + `, "ca_file": "none"}]}`, "ca_file of topic orders: open "},
		{orders + `, "proxy": "me:hush"}]}`, "targets[0].proxy"},
		{orders + `}, {"topic": "orders", "url": "https://shop.example", "secret_files": ["secrets"]}]}`, `targets[1].topic is "orders", as in targets[0]`},
		{`{"targets": [{"url": "https://shop.example/hush"}]}`, "targets[0].topic is \"\""},
		{`{"targets": [{"topic": "orders"}]}`, "targets[0].url is empty"},
		{`{"targets": [{"topic": "orders", "url": "https://shop.example/hush"}]}`, "targets[0].secrets is empty"},
		{`{"targets": [{"topic": "orders", "url": "https://10.0.0.1/hush"}]}`, "targets[0].url is https://10.0.0.1; it must be at a public address"},
	} {
		dir := folder(t, map[string]string{"push.json": c.text, "secrets": secret, "empty": "\n# none\n", "bad": "# hush\nhush\n"})
		_, err := Load(filepath.Join(dir, "push.json"))
		if err == nil {
			t.Errorf("%s is right", c.text)
			continue
		}
		has(t, err.Error(), "push.json", c.words)
		if strings.Contains(strings.ReplaceAll(err.Error(), dir, ""), "hush") {
			t.Errorf("%q shows a secret", err)
		}
	}
	if _, err := Load("none.json"); err == nil || !strings.Contains(err.Error(), "none.json") {
		t.Errorf("no file: %v", err)
	}
}
