package webhook

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/rmq"
)

func good() Target {
	return Target{Topic: rmq.Topic{Name: "orders", Kind: rmq.KindPriority}, URL: "https://shop.example/hush?hush=1", Secrets: []string{secret}}
}

// Each field that is wrong is named, with what it must be; nothing secret is shown.
func TestBadTargets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		field string
		spoil func(*Target)
		words string
	}{
		{"URL", func(t *Target) { t.URL = "" }, "such as https://"},
		{"URL", func(t *Target) { t.URL = "https://shop.example/hush\n" }, "such as https://"},
		{"Topic.Name", func(t *Target) { t.Topic.Name = "a{b" }, "a{b"},
		{"URL", func(t *Target) { t.URL = "shop.example/hush" }, "without https://"},
		{"URL", func(t *Target) { t.URL = "ftp://shop.example/hush" }, `"ftp"`},
		{"URL", func(t *Target) { t.URL = "https:///hush" }, "without a host"},
		{"URL", func(t *Target) { t.URL = "https://me:hush@shop.example/" }, "Authorization"},
		{"URL", func(t *Target) { t.URL = "https://shop.example/#hush" }, "fragment"},
		{"URL", func(t *Target) { t.URL = "http://shop.example/hush" }, "allow http"},
		{"URL", func(t *Target) { t.URL, t.AllowPrivate = "http://shop.example/hush", true }, "allow http"},
		{"URL", func(t *Target) { t.URL = "http://localhost/hush" }, "allow http"},
		{"Secrets", func(t *Target) { t.Secrets = nil }, "at least one"},
		{"Secrets[1]", func(t *Target) { t.Secrets = []string{secret, "hush"} }, "whsec_"},
		{"Timeout", func(t *Target) { t.Timeout = -time.Second }, "1ms to 1h"},
		{"Timeout", func(t *Target) { t.Timeout = 2 * time.Hour }, "1ms to 1h"},
		{"Concurrency", func(t *Target) { t.Concurrency = -1 }, "10000"},
		{"Concurrency", func(t *Target) { t.Concurrency = 10_001 }, "10000"},
		{"ContentType", func(t *Target) { t.ContentType = "text/plain\r\nHost: evil" }, "one line"},
		{"Headers.host", func(t *Target) { t.Headers = map[string]string{"host": "x"} }, "left out"},
		{"Headers.content-length", func(t *Target) { t.Headers = map[string]string{"content-length": "1"} }, "left out"},
		{"Headers.Content-Type", func(t *Target) { t.Headers = map[string]string{"Content-Type": "x"} }, "content type"},
		{"Headers.WEBHOOK-ID", func(t *Target) { t.Headers = map[string]string{"WEBHOOK-ID": "x"} }, "left out"},
		{"Headers.rmq-fence", func(t *Target) { t.Headers = map[string]string{"rmq-fence": "1"} }, "left out"},
		{"Headers", func(t *Target) { t.Headers = map[string]string{"a b": "1"} }, `"a b"`},
		{"Headers", func(t *Target) { t.Headers = map[string]string{"": "1"} }, `""`},
		{"Headers.Authorization", func(t *Target) { t.Headers = map[string]string{"Authorization": "hush\r\nX: y"} }, "not shown"},
		{"Proxy", func(t *Target) { t.Proxy = "socks5://me:hush@proxy" }, "not shown"},
	} {
		target := good()
		c.spoil(&target)
		err := target.Check()
		var invalid *rmq.InvalidError
		if !errors.As(err, &invalid) || invalid.Field != c.field {
			t.Errorf("%+v: not field %s: %v", target, c.field, err)
			continue
		}
		has(t, err.Error(), c.words)
		if strings.Contains(err.Error(), "hush") {
			t.Errorf("%q shows a secret", err)
		}
	}
	for name, adjust := range map[string]func(*Target){
		"as it is":          func(*Target) {},
		"http allowed":      func(t *Target) { t.URL, t.AllowHTTP = "http://shop.example/", true },
		"http to ourselves": func(t *Target) { t.URL, t.AllowPrivate = "http://[::1]:80/", true },
		"headers":           func(t *Target) { t.Headers = map[string]string{"Authorization": "Bearer x", "User-Agent": "shop/1"} },
	} {
		target := good()
		adjust(&target)
		if err := target.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestBadConfigs(t *testing.T) {
	t.Parallel()
	rdb := prepare(t, "http://localhost:1").rdb
	for words, cfg := range map[string]Config{
		"Config.Targets is empty":         {},
		"Config.Targets[1].Timeout is -1": {Targets: []Target{good(), func() Target { t := good(); t.Timeout = -1; return t }()}},
		"Config.Targets[1].Topic is orders; it must be another one than that of Targets[0]": {Targets: []Target{good(), good()}},
		"Topic.Kind": {Targets: []Target{func() Target { t := good(); t.Topic.Kind = 0; return t }()}},
	} {
		cfg.Client.Redis = rdb
		if _, err := New(cfg); !errors.Is(err, rmq.ErrInvalid) {
			t.Errorf("%s: %v", words, err)
		} else {
			has(t, err.Error(), "webhook: ", words)
		}
	}
	p, err := New(Config{Client: rmq.Config{Redis: rdb}, Targets: []Target{good()}})
	must.Do(t, err)
	defer func() { must.Do(t, p.Close(ctx)) }()
	for topic, secrets := range map[string][]string{"orders": {"hush"}, "invoices": {secret}} {
		if err := p.SetSecrets(topic, secrets); err == nil || strings.Contains(err.Error(), "hush") {
			t.Errorf("secrets of %s: %v", topic, err)
		} else {
			has(t, err.Error(), topic)
		}
	}
}
