package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		n            float64
		count, round string
	}{
		{0, "0", "0"},
		{0.4, "0", "0"},
		{7, "7", "7"},
		{999, "999", "999"},
		{999.6, "1,000", "1,000"},
		{1000, "1,000", "1,000"},
		{9996, "9,996", "10,000"},
		{316_449, "316,449", "316,000"},
		{1_234_567, "1,234,567", "1,230,000"},
	} {
		if got := Count(c.n); got != c.count {
			t.Errorf("Count(%v) is %s, not %s", c.n, got, c.count)
		}
		if got := Round(c.n); got != c.round {
			t.Errorf("Round(%v) is %s, not %s", c.n, got, c.round)
		}
	}
}

func TestReport(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	r := New(&out)
	r.Section("Numbers")
	r.Text("One line\n\t\tof %d words.", 5)
	r.Table([]string{"", "µs"}, [][]string{{"a", "1.25"}, {"längst", "3"}})
	r.Result("early", "%.0f", 0)
	r.Results("early", "late")
	const want = `
## Numbers

One line of 5 words.

|        |   µs |
|--------|-----:|
| a      | 1.25 |
| längst |    3 |

RESULT early=0 late=-
`
	if out.String() != want {
		t.Errorf("got %s", out.String())
	}
}

// A picture is well-formed whatever its texts are, and keeps them.
func TestPicture(t *testing.T) {
	t.Parallel()
	const odd = `<b> & "quotes" 'µs'`
	p := Picture{Title: odd, Subtitle: "sub", Panels: []Panel{
		{Title: "first", Labels: 100, Bars: []Bar{{Label: odd, Text: "none", Value: 0}, {Label: "b", Text: "all", Value: 7, Role: Own}}},
		{Title: "second", Bars: []Bar{{Label: "c", Text: "0", Value: 0, Role: Reference}}},
		{Title: "empty"},
	}}
	for _, theme := range []Theme{Light, Dark} {
		svg := p.SVG(theme)
		var texts []string
		for d := xml.NewDecoder(strings.NewReader(svg)); ; {
			token, err := d.Token()
			if err == io.EOF {
				break
			}
			if err != nil {
				t.Fatalf("%v in %s", err, svg)
			}
			if text, ok := token.(xml.CharData); ok && strings.TrimSpace(string(text)) != "" {
				texts = append(texts, string(text))
			}
		}
		got := strings.Join(texts, "|")
		want := odd + "|first: " + odd + " none, b all. second: c 0. empty: . sub|" + odd + "|sub|first|" + odd + "|none|b|all|second|c|0|empty"
		if got != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		if strings.Contains(svg, "NaN") || strings.Contains(svg, "Inf") || strings.Contains(svg, "href") {
			t.Error(svg)
		}
	}
}

// Nothing of a picture is cut off at its edge: what is long is broken into lines, which
// push down what stands below.
func TestPictureBreaksLongTexts(t *testing.T) {
	t.Parallel()
	short := Picture{Title: "title", Subtitle: "subtitle", Panels: []Panel{{Title: "panel"}}}
	long := short
	long.Note = strings.Repeat("äöü ", 80) // 319 characters
	parts := regexp.MustCompile(`<text y="(\d+)" font-size="12"[^>]*>([^<]*)<`).FindAllStringSubmatch(long.SVG(Light), -1)
	var said []string
	for i, p := range parts {
		if utf8.RuneCountInString(p[2]) > small.most || i > 0 && p[1] == parts[i-1][1] {
			t.Errorf("a line at %s: %s", p[1], p[2])
		}
		said = append(said, p[2])
	}
	if got := strings.Join(said, " "); got != strings.TrimSpace("subtitle "+long.Note) || len(parts) != 4 {
		t.Errorf("%d lines say %q", len(parts), got)
	}
	high := func(p Picture) (n int) {
		_, _ = fmt.Sscan(regexp.MustCompile(`viewBox="0 0 720 (\d+)"`).FindStringSubmatch(p.SVG(Light))[1], &n)
		return n
	}
	if a, b := high(short), high(long); a != b-3*small.pitch {
		t.Errorf("%d high without the note, and %d with it", a, b)
	}
}
