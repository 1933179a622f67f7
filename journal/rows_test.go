package journal

import "testing"

func TestPlainTexts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{"": "", "a b": "a b", "世界": "世界", "a\x00b": "a�b", "\xff\xfe!": "�!"} {
		if got := plain(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
