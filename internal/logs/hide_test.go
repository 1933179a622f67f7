package logs

import (
	"encoding/json"
	"fmt"
	"testing"
)

// A content is not to be seen, in whichever of the usual ways a text quotes it.
func TestWithout(t *testing.T) {
	asJSON := func(content string) string {
		text, err := json.Marshal(map[string]string{"order": content})
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	for _, content := range []string{
		"plain", `{"name":"Ann"}`, "two\nlines\t", `back\slash`, "Zoë", "a\xffb\x00", "<b>&</b>", "`", "\u2028", "\U0001F600\ufffd",
	} {
		for _, c := range []struct{ text, want string }{
			{fmt.Sprintf("no order %s!", content), "no order …!"},
			{fmt.Sprintf("no order %q!", content), `no order "…"!`},
			{fmt.Sprintf("no order %+q!", content), `no order "…"!`},
			{asJSON(content), `{"order":"…"}`},
		} {
			if got := Without("other", content, "").Replace(c.text); got != c.want {
				t.Errorf("%q: got %q, want %q", c.text, got, c.want)
			}
		}
	}
	if got := Without("ab", "abc", `a"b`).Replace(`ab "ab" abc "a\"b"`); got != `… "…" … "…"` {
		t.Errorf("got %s", got)
	}
	if got := Without().Replace("as it is"); got != "as it is" {
		t.Errorf("got %s", got)
	}
}
