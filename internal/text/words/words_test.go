package words

import (
	"os/exec"
	"testing"
)

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

func TestNumbers(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 4812: "4,812", 1_000_000: "1,000,000"} {
		if got := Grouped(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
	if Count(1, "slot") != "1 slot" || Count(4812, "slot") != "4,812 slots" {
		t.Error(Count(1, "slot"), Count(4812, "slot"))
	}
}

// What is printed to go on with must mean the same to a shell.
func TestQuoted(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"", "orders", "order 4711", "it's", "a\nb", "*", "$HOME", "`x`", "a\\b", "\x01\xff", "--", "-x", " x ", "~", "é本", "'\n'", "\u202e", "a=b", "!x"} {
		out, err := exec.Command(bash, "-c", "printf %s "+Quoted(word)+"/").Output()
		if err != nil || string(out) != word+"/" {
			t.Errorf("%q as %s becomes %q, %v", word, Quoted(word), out, err)
		}
	}
}
