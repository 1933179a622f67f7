package webhook

import (
	"encoding/base64"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/must"
)

// The example that the reference libraries of Standard Webhooks are tested with.
const (
	exampleSecret    = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	exampleID        = "msg_p5jXN8AQM9LWM0D4loKWxJek"
	exampleTime      = 1614265330
	exampleBody      = `{"test": 2432232314}`
	exampleSignature = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="
)

func TestSignatureOfTheStandard(t *testing.T) {
	t.Parallel()
	k, err := keysOf([]string{exampleSecret})
	must.Do(t, err)
	if got := k.sign(exampleID, time.Unix(exampleTime, 0), exampleBody); got != exampleSignature {
		t.Errorf("got %s, want %s", got, exampleSignature)
	}
	for what, got := range map[string]string{
		"another id":   k.sign(exampleID+"x", time.Unix(exampleTime, 0), exampleBody),
		"another time": k.sign(exampleID, time.Unix(exampleTime+1, 0), exampleBody),
		"another body": k.sign(exampleID, time.Unix(exampleTime, 0), exampleBody+"\n"),
	} {
		if got == exampleSignature {
			t.Errorf("%s has the same signature", what)
		}
	}
}

// While a secret is changed, both sign: a receiver may know one or the other.
func TestSignaturesOfSeveralSecrets(t *testing.T) {
	t.Parallel()
	k, err := keysOf([]string{secret, exampleSecret})
	must.Do(t, err)
	all := strings.Split(k.sign(exampleID, time.Unix(exampleTime, 0), exampleBody), " ")
	if len(all) != 2 || all[1] != exampleSignature || all[0] == all[1] || !strings.HasPrefix(all[0], "v1,") {
		t.Errorf("got %q", all)
	}
}

// What is no secret is refused in words that do not show it: it may nearly be one.
func TestBadSecrets(t *testing.T) {
	t.Parallel()
	hush := []byte(strings.Repeat("hush", 6))
	for _, bad := range [][]string{
		nil, {""}, {"whsec_"}, {"hush"}, {base64.StdEncoding.EncodeToString(hush)},
		{"whsec_" + base64.StdEncoding.EncodeToString(hush[:23])}, {secretOf(strings.Repeat("hush", 17))},
		{"whsec_" + base64.URLEncoding.EncodeToString([]byte("\xff\xff\xff"+string(hush)))}, {secret + "\n\x00"}, {secret, "whsec_hush"},
	} {
		_, err := keysOf(bad)
		if err == nil {
			t.Errorf("%q are secrets", bad)
			continue
		}
		has(t, err.Error(), "Secrets", "openssl rand -base64 32")
		for _, s := range bad {
			if s = strings.TrimSpace(strings.TrimPrefix(s, secretPrefix)); len(s) > 3 && strings.Contains(err.Error(), s) {
				t.Errorf("%q shows a secret", err)
			}
		}
	}
	for _, good := range []string{exampleSecret, secret, secretOf(strings.Repeat("hush", 16))} {
		if _, err := keysOf([]string{good}); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
}
