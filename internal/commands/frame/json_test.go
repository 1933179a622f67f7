package frame

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode"

	"github.com/slotmq/go-rmq/internal/testing/must"
)

// A terminal that is shown JSON does nothing but show it.
func TestJSONIsPrintable(t *testing.T) {
	t.Parallel()
	all := "\x00\x1b[31m\x7f\u0085\u009b31m\u00a0\u00e9\u200b\u202e\u2066\ufeff\U0001f600\U000e0041\\u0041 \"<>&"
	var b bytes.Buffer
	err := AddLine(&b, struct{ Text string }{all})
	line := b.Bytes()
	must.Do(t, err)
	text, ended := strings.CutSuffix(string(line), "\n")
	if strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) }) || !ended {
		t.Errorf("%q", line)
	}
	if !strings.Contains(text, "é") || !strings.Contains(text, "\U0001f600") || !strings.Contains(text, `\udb40\udc41`) || !strings.Contains(text, `\u009b31m`) {
		t.Errorf("%q", line)
	}
	var back struct{ Text string }
	must.Do(t, json.Unmarshal(line, &back))
	if back.Text != all {
		t.Errorf("%q comes back as %q", all, back.Text)
	}
}
