package flow

import "testing"

// What a worker says comes back as it was said.
func TestWords(t *testing.T) {
	t.Parallel()
	w := Word{From: "app7-4711-ca4a907a", Stay: 35, Places: 19, Of: 34, Max: 64, Turn: 7}
	if payload := string(w.Append(nil)); payload != "flow:35:19:34:64:7:app7-4711-ca4a907a" {
		t.Error(payload)
	}
	for _, w.From = range []string{"app7-4711-ca4a907a+1", "a:b", ""} {
		payload := string(w.Append(nil))
		if got, ok := ParseWord(payload); !ok || got != w {
			t.Errorf("%q: %+v, %t", payload, got, ok)
		}
	}
	for _, payload := range []string{
		"", "members", "3:0", "flow", "flow:", "flow:3:2", "flow:3:2:3:64:x:a", "flow:::::a", "held:3:2:1:64:0:a",
		"flow:0:1:1:1:0:a", "flow:1:0:1:1:0:a", "flow:1:1:0:1:0:a", "flow:1:1:1:0:0:a", "flow:1:1:1:1:-1:a", "flow:1048577:1:1:1:0:a", "flow:1:1:1:1:1125899906842625:a",
	} {
		if w, ok := ParseWord(payload); ok {
			t.Errorf("%q is a word: %+v", payload, w)
		}
	}
}
