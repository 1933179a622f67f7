package report

import (
	"encoding/xml"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Picture is a title above panels of horizontal bars. The first panel has the
// whole width, those after it share it below.
type Picture struct {
	Title, Subtitle string
	Note            string // what must be known to judge it
	Panels          []Panel
}

// Panel is a scale of its own.
type Panel struct {
	Title  string
	Labels int // width of the column of labels
	Bars   []Bar
}

// Bar is a value with a label at its left, and how it is written at its right.
type Bar struct {
	Label, Text string
	Value       float64
	Role        Role
}

// Role is what a bar is there for.
type Role int

const (
	Other     Role = iota
	Own            // what the picture is about
	Reference      // not one of them, only to compare
)

// Theme is a set of colours. The background is that of the page.
type Theme struct{ text, muted, own, other string }

var (
	Light = Theme{text: "#1f2328", muted: "#59636e", own: "#0969da", other: "#818b98"}
	Dark  = Theme{text: "#f0f6fc", muted: "#9198a1", own: "#4493f8", other: "#767e89"}
)

const (
	pictureWidth = 720
	panelHeight  = 34 // its title only
	barPitch     = 30
	barHeight    = 20
	panelGap     = 24
	valueWidth   = 110 // right of the longest bar
)

// size is how large text is drawn, and how many characters then fit into the width of
// the picture, whichever of its fonts there is.
type size struct{ font, pitch, most int }

var (
	large = size{font: 18, pitch: 24, most: 68}
	small = size{font: 12, pitch: 17, most: 112}
)

// SVG draws the picture. It needs nothing from elsewhere, and says in words what
// it shows.
func (p Picture) SVG(t Theme) string {
	var w, above strings.Builder
	y := 20
	for _, text := range []struct {
		size
		look  string
		words string
	}{
		{large, `font-weight="600"`, p.Title},
		{small, fmt.Sprintf(`fill="%s"`, t.muted), p.Subtitle},
		{small, fmt.Sprintf(`fill="%s"`, t.muted), p.Note},
	} {
		for _, line := range lines(text.words, text.most) {
			fmt.Fprintf(&above, `<text y="%d" font-size="%d" %s>%s</text>`+"\n", y, text.font, text.look, escape(line))
			y += text.pitch
		}
	}
	height := y + p.Panels[0].height()
	below := 0
	for _, panel := range p.Panels[1:] {
		below = max(below, panelGap+panel.height())
	}
	fmt.Fprintf(&w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%[1]d" height="%[2]d" role="img" aria-labelledby="title desc"`+
		` font-family="system-ui, -apple-system, 'Segoe UI', Helvetica, Arial, sans-serif" font-size="14" fill="%[3]s">`+"\n", pictureWidth, height+below, t.text)
	fmt.Fprintf(&w, "<title id=\"title\">%s</title>\n<desc id=\"desc\">%s</desc>\n", escape(p.Title), escape(p.words()))
	w.WriteString(above.String())
	p.Panels[0].draw(&w, t, 0, y, pictureWidth)
	if n := len(p.Panels) - 1; n > 0 {
		width := (pictureWidth - (n-1)*panelGap) / n
		for i, panel := range p.Panels[1:] {
			panel.draw(&w, t, i*(width+panelGap), height+panelGap, width)
		}
	}
	w.WriteString("</svg>\n")
	return w.String()
}

// lines breaks a text between words into lines of at most so many characters.
func lines(text string, most int) (broken []string) {
	length := 0
	for _, word := range strings.Fields(text) {
		n := utf8.RuneCountInString(word)
		if length > 0 && length+1+n <= most {
			broken[len(broken)-1] += " " + word
			length += 1 + n
			continue
		}
		broken, length = append(broken, word), n
	}
	return broken
}

// words tell the same.
func (p Picture) words() string {
	var all []string
	for _, panel := range p.Panels {
		var bars []string
		for _, b := range panel.Bars {
			bars = append(bars, b.Label+" "+b.Text)
		}
		all = append(all, panel.Title+": "+strings.Join(bars, ", ")+".")
	}
	return strings.TrimSuffix(strings.Join(append(all, p.Subtitle, p.Note), " "), " ")
}

func (p Panel) height() int { return panelHeight + len(p.Bars)*barPitch }

func (p Panel) draw(w *strings.Builder, t Theme, x, y, width int) {
	fmt.Fprintf(w, `<text x="%d" y="%d" font-size="13" fill="%s">%s</text>`+"\n", x, y+16, t.muted, escape(p.Title))
	longest := 0.0
	for _, b := range p.Bars {
		longest = max(longest, b.Value)
	}
	room := float64(width - p.Labels - valueWidth)
	for i, b := range p.Bars {
		top := y + panelHeight + i*barPitch
		look, text := fmt.Sprintf(`fill="%s"`, t.other), fmt.Sprintf(`fill="%s"`, t.text)
		switch b.Role {
		case Own:
			look, text = fmt.Sprintf(`fill="%s"`, t.own), text+` font-weight="600"`
		case Reference:
			look, text = fmt.Sprintf(`fill="none" stroke="%s" stroke-dasharray="3 3"`, t.other), fmt.Sprintf(`fill="%s"`, t.muted)
		}
		length := max(2, room*b.Value/max(longest, 1e-9))
		middle := top + barHeight/2 + 5 // of the text
		fmt.Fprintf(w, `<text x="%d" y="%d" %s>%s</text>`+"\n", x, middle, text, escape(b.Label))
		fmt.Fprintf(w, `<rect x="%.1f" y="%.1f" width="%.1f" height="%d" rx="2" %s/>`+"\n", float64(x+p.Labels)+.5, float64(top)+.5, length, barHeight-1, look)
		fmt.Fprintf(w, `<text x="%.1f" y="%d" %s>%s</text>`+"\n", float64(x+p.Labels+8)+length, middle, text, escape(b.Text))
	}
}

func escape(text string) string {
	var w strings.Builder
	_ = xml.EscapeText(&w, []byte(text)) // a Builder takes everything
	return w.String()
}
