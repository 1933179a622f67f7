package words

import "testing"

func TestLegible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"order 4711":      "order 4711",
		"Bücher, 本, ✓":    "Bücher, 本, ✓",
		`say "hi"`:        `say "hi"`,
		`"quoted"`:        `"\"quoted\""`,
		" space":          `" space"`,
		"space ":          `"space "`,
		"":                `""`,
		"two\nlines":      `"two\nlines"`,
		"\x1b[31mred":     `"\x1b[31mred"`,
		"a\xffb":          `"a\xffb"`,
		"right\u202eleft": `"right\u202eleft"`,
	} {
		if got := Legible(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0 slots", 1: "1 slot", 2: "2 slots", 999: "999 slots", 1000: "1,000 slots", 65536: "65,536 slots", 1234567: "1,234,567 slots"} {
		if got := Count(n, "slot"); got != want {
			t.Errorf("%d: %s, not %s", n, got, want)
		}
	}
}
