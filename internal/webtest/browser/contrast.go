package browser

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// The least contrasts of WCAG 2.2: of text, of large text, and of what shows where a field or the focus is.
const TextContrast, largeContrast, EdgeContrast = 4.5, 3.0, 3.0

// Colour has red, green and blue between 0 and 1; the last is how much it covers.
type Colour [4]float64

// luminance is how bright a colour is, as WCAG defines it.
func (c Colour) luminance() float64 {
	linear := func(v float64) float64 {
		if v <= 0.04045 {
			return v / 12.92
		}
		return math.Pow((v+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c[0]) + 0.7152*linear(c[1]) + 0.0722*linear(c[2])
}

// over is what is seen of a colour above another one.
func (c Colour) over(below Colour) Colour {
	for i := range 3 {
		c[i] = c[i]*c[3] + below[i]*(1-c[3])
	}
	c[3] = 1
	return c
}

// Contrast is that of two colours, from 1 to 21.
func Contrast(a, b Colour) float64 {
	la, lb := a.luminance(), b.luminance()
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

// ParseColour reads a colour as a style has it, #12ab9f, or as a browser says it, rgb(1, 2, 3) or rgba(1, 2, 3, 0.5).
func ParseColour(s string) (Colour, error) {
	if digits, is := strings.CutPrefix(s, "#"); is {
		n, err := strconv.ParseUint(digits, 16, 32)
		if err != nil || len(digits) != 6 {
			return Colour{}, fmt.Errorf("%q is no colour", s)
		}
		return Colour{float64(n>>16) / 255, float64(n>>8&255) / 255, float64(n&255) / 255, 1}, nil
	}
	name, inside, _ := strings.Cut(strings.TrimSuffix(s, ")"), "(")
	parts := strings.Split(inside, ",")
	if name != "rgb" && name != "rgba" || len(parts) < 3 || len(parts) > 4 {
		return Colour{}, fmt.Errorf("%q is no colour", s)
	}
	c := Colour{3: 1}
	for i, part := range parts {
		v, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil {
			return Colour{}, fmt.Errorf("%q is no colour", s)
		}
		if i < 3 {
			v /= 255
		}
		c[i] = v
	}
	return c, nil
}

// shown is a text of a page with its colours, the papers below it from the top on.
type shown struct {
	Text   string
	Front  string
	Backs  []string
	Large  bool
	Opaque float64 // 1: nothing shines through it
}

const allShown = `(() => {
	const all = [], walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
	for (let n = walker.nextNode(); n; n = walker.nextNode()) {
		const e = n.parentElement, s = getComputedStyle(e), r = e.getBoundingClientRect()
		if (!n.data.trim() || !e.checkVisibility() || r.width <= 1 || s.clipPath != 'none') continue
		const backs = []
		let opaque = 1
		for (let b = e; b; b = b.parentElement) { const c = getComputedStyle(b); backs.push(c.backgroundColor); opaque *= c.opacity }
		const size = parseFloat(s.fontSize)
		all.push({Text: n.data.trim().slice(0, 60), Front: s.color, Backs: backs, Large: size >= 24 || size >= 18.66 && s.fontWeight >= 700, Opaque: opaque})
	}
	return all
})()`

// Pale are texts of the page that have too little contrast, as the browser colours them: one of each colour.
func (p *Page) Pale() (found []string) {
	p.t.Helper()
	texts := ask[[]shown](p, allShown)
	if len(texts) == 0 {
		p.must("look for pale texts", errors.New("it has no text"))
	}
	said := map[string]bool{}
	for _, s := range texts {
		back := Colour{1, 1, 1, 1} // behind all of it
		for _, paper := range slices.Backward(s.Backs) {
			back = p.colour(paper).over(back)
		}
		front, least := p.colour(s.Front), TextContrast
		front[3] *= s.Opaque
		if s.Large {
			least = largeContrast
		}
		if got := Contrast(front.over(back), back); got < least && !said[s.Front] {
			said[s.Front] = true
			found = append(found, fmt.Sprintf("%q has a contrast of %.2f, and needs %.1f (%s)", s.Text, got, least, s.Front))
		}
	}
	return found
}

func (p *Page) colour(s string) Colour {
	p.t.Helper()
	c, err := ParseColour(s)
	p.must("read a colour", err)
	return c
}
