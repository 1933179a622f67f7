package webhook

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/npmtest"
)

// receiverInNode verifies requests as a receiver does which has the library, and says of each what it holds, or why it is
// refused.
const receiverInNode = `
const {Webhook} = require("standardwebhooks");
const all = JSON.parse(require("fs").readFileSync(0, "utf8"));
console.log(JSON.stringify(all.map(({secret, body, headers}) => {
	try {
		return JSON.stringify(new Webhook(secret).verify(body, headers));
	} catch (e) {
		return e.message;
	}
})));
`

// The library of Standard Webhooks accepts what is sent, by each secret of the target, and nothing that was changed.
func TestVerifiedByTheLibrary(t *testing.T) {
	t.Parallel()
	r := receive(t, nil)
	l, _ := listenerTo(t, r.URL, func(t *Target) { t.Secrets = []string{secret, exampleSecret} })
	d := delivery(`{"order":4711,"to":"Zoë"}`)
	must.Do(t, l.OnMessage(ctx, d))
	q := r.next(t)
	sent := map[string]string{}
	for name := range q.Header {
		sent[name] = q.Get(name)
	}
	with := func(name, value string) map[string]string {
		h := maps.Clone(sent)
		h[name] = value
		return h
	}
	type received struct {
		Secret  string            `json:"secret"`
		Body    string            `json:"body"`
		Headers map[string]string `json:"headers"`
	}
	input, err := json.Marshal([]received{
		{secret, q.body, sent}, {exampleSecret, q.body, sent},
		{secret, strings.Replace(q.body, "4711", "4712", 1), sent},
		{secretOf(strings.Repeat("other", 6)), q.body, sent},
		{secret, q.body, with("Webhook-Id", "x")},
		{secret, q.body, with("Webhook-Timestamp", "1614265330")},
	})
	must.Do(t, err)
	node := npmtest.Node(t, "-e", receiverInNode)
	node.Stdin = bytes.NewReader(input)
	out, err := node.CombinedOutput()
	var got []string
	if err == nil {
		err = json.Unmarshal(out, &got)
	}
	const changed = "No matching signature found"
	if want := []string{d.Content, d.Content, changed, changed, changed, "Message timestamp too old"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%v: %s, and not %q", err, out, want)
	}
}
