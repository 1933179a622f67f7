package commands

import (
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/message"
)

// A person sees how often a message was sent, until when it is to be handled, and its headers.
func TestExplainANote(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		codes := message.Topic{Name: "codes", Kind: message.KindPriority, Slots: 1, Notes: true}
		send(t, s.rdb, codes, message.Priority{Content: "once", Priority: 900})
		for range 3 {
			send(t, s.rdb, codes, message.Priority{Content: "code", Priority: 900, TTL: time.Hour, Headers: map[string]string{"tenant": "7", "from": "a\nb"}})
		}
		flat := func(args ...string) string { return strings.Join(strings.Fields(s.text(t, args...)), " ") }
		for content, text := range map[string]string{
			"once": "once in slot 0 of codes waiting with priority 900, 1 with the same priority may go before it sent once, SPAN ago",
			"code": `code in slot 0 of codes waiting with priority 900, 1 with the same priority may go before it ` +
				`sent 3 times, first SPAN ago, last SPAN ago expires in SPAN (TIME) headers from: "a\nb", tenant: 7`,
		} {
			got, _, _ := strings.Cut(flat("explain", "codes", content), " waits for")
			wantText(t, got, text)
		}
		note := s.objects(t, "explain", "codes", "code")[0]["note"].(map[string]any)
		want(t, note["sends"], "3")
		want(t, note["headers"].(map[string]any)["tenant"], "7")
		if note["first"] == nil || note["last"] == nil || note["expires"] == nil {
			t.Errorf("%v", note)
		}
		if once := s.objects(t, "explain", "codes", "once")[0]["note"].(map[string]any); once["expires"] != nil || once["headers"] != nil {
			t.Errorf("%v", once)
		}
		wantText(t, s.text(t, "verify"), "ok: 1 slot of 1 topic, no rule broken")
	})
}
