package browser

import (
	"math"
	"strings"
	"testing"
)

func TestUnreadablePagesAreFound(t *testing.T) {
	t.Parallel()
	frame := func(name string, nodes ...*Node) *Node {
		return &Node{Role: "RootWebArea", Nodes: append([]*Node{{Role: "main"}, {Role: "banner"}, {Role: "contentinfo"}, {Role: "navigation", Name: name}}, nodes...)}
	}
	one := &Node{Role: "heading", Name: "One", Level: 1}
	if wrong := unreadable(frame("Pages", one)); wrong != nil {
		t.Errorf("a good page: %q", wrong)
	}
	for want, tree := range map[string]*Node{
		"0 headings of level 1": frame("Pages"),
		"2 headings of level 1": frame("Pages", one, one),
		"follows one of level":  frame("Pages", one, &Node{Role: "heading", Name: "Three", Level: 3}),
		"a button has no name":  frame("Pages", one, &Node{Role: "button"}),
		"a img has no name":     frame("Pages", one, &Node{Role: "img"}),
		"a table has no header": frame("Pages", one, &Node{Role: "table", Nodes: []*Node{{Role: "cell"}}}),
		"landmarks main":        {Role: "RootWebArea", Nodes: []*Node{one}},
		"navigations are":       frame("", one),
	} {
		if wrong := strings.Join(unreadable(tree), "\n"); !strings.Contains(wrong, want) {
			t.Errorf("%s is not noticed: %q", want, wrong)
		}
	}
}

// The check notices what cannot be reached, and a focus that does not show.
func TestKeyboardFaultsAreFound(t *testing.T) {
	t.Parallel()
	const good = `<a href="#a">a</a> <button>b</button> <label>c <input></label> <details><summary>d</summary><a href="#e">e</a></details><p tabindex=0>f</p><style>:focus-visible { outline: 2px solid red }</style>`
	for body, want := range map[string]int{
		good:                                    0,
		good + `<a href="#g" tabindex=-1>g</a>`: 1,
		good + `<button style="outline: none">g</button>`:                                           1,
		good + `<button style="position: fixed; left: -99px; width: 50px">g</button>`:               1,
		good + `<button disabled>g</button><input type=hidden><button hidden>h</button>`:            0,
		good + `<label><input type=radio name=r>1</label><label><input type=radio name=r>2</label>`: 0,
	} {
		p := Open(t, View{})
		p.Open(site(t, map[string]string{"/": body}))
		if wrong := p.Keyboard(); len(wrong) != want {
			t.Errorf("%s: %q", body[len(good):], wrong)
		}
	}
}
func parse(t *testing.T, s string) Colour {
	t.Helper()
	c, err := ParseColour(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestContrastIsThatOfWCAG(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		a, b string
		want float64
	}{{"#000000", "#ffffff", 21}, {"#777777", "#ffffff", 4.48}, {"#767676", "#ffffff", 4.54}, {"#ff0000", "#ffffff", 4.00}} {
		if got := Contrast(parse(t, c.a), parse(t, c.b)); math.Abs(got-c.want) > 0.01 {
			t.Errorf("%s on %s: %.2f, want %.2f", c.a, c.b, got, c.want)
		}
	}
	if got := (Colour{0, 0, 0, 0.5}).over(Colour{1, 1, 1, 1}); got != (Colour{0.5, 0.5, 0.5, 1}) {
		t.Errorf("half black over white is %v", got)
	}
}

func TestColours(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Colour{
		"#ff0033": {1, 0, 0.2, 1}, "rgb(255, 0, 51)": {1, 0, 0.2, 1}, "rgba(255, 0, 51, 0.5)": {1, 0, 0.2, 0.5},
	} {
		if got := parse(t, text); got != want {
			t.Errorf("%s is %v", text, got)
		}
	}
	for _, text := range []string{"", "red", "#fff", "#gggggg", "rgb(1, 2)", "rgb(a, b, c)", "rgb(1, 2, 3, 4, 5)", "color(srgb 1 0 0)"} {
		if got, err := ParseColour(text); err == nil {
			t.Errorf("%q is %v", text, got)
		}
	}
}

func TestPaleTextsAreFound(t *testing.T) {
	t.Parallel()
	const readable = `<body style="background: #fff; color: #000"><p>one<p>two<p>three<p>four<p>five`
	for body, want := range map[string]int{
		readable:                                                        0,
		readable + `<p style="color: #777">six`:                         1,
		readable + `<p style="color: #767676">six`:                      0,
		readable + `<p style="opacity: 0.4">six`:                        1,
		readable + `<p style="color: #949494; font-size: 24px">six`:     0,
		readable + `<div style="background: #333"><p>six</div>`:         1,
		readable + `<div style="background: rgba(0, 0, 0, 0.8)"><p>six`: 1,
		readable + `<p style="color: #fff; display: none">six<p>seven`:  0,
	} {
		p := Open(t, View{})
		p.Open(site(t, map[string]string{"/": body}))
		if found := p.Pale(); len(found) != want {
			t.Errorf("%s: %q", body[len(readable):], found)
		}
	}
}

func TestUnreadableDocumentsAreFound(t *testing.T) {
	t.Parallel()
	const good = `<header>a</header><nav aria-label=Pages><a href="#a">a</a></nav><main><h1>One</h1><p>in a <a href="#b">b</a></p><button style="min-width: 24px; min-height: 24px">c</button></main><footer>d</footer>`
	for body, want := range map[string]string{
		good:                              "",
		good + `<p id=x></p><p id=x></p>`: "two elements are called x",
		good + `<button style="width: 20px; height: 30px; padding: 0; margin: 2px">e</button>`:                                                            "",
		good + `<input type=checkbox style="width: 18px; height: 18px; margin: 2px"><input type=checkbox style="width: 18px; height: 18px; margin: 2px">`: "too small to hit: 18 × 18",
		good + `<button style="width: 20px; height: 30px; padding: 0">e</button><button style="width: 20px; height: 30px; padding: 0">f</button>`:         "too small to hit: 20 × 30",
		good + `<a href="#e" style="display: block; width: 50px; height: 20px">e</a><a href="#f" style="display: block; width: 50px; height: 20px">f</a>`: "too small to hit: 50 × 20",
		good + `<table><tr><th>e<td>f</table>`:                       "a header without scope",
		good + `<script>document.title = ''</script>`:                "it has no title",
		good + `<script>document.documentElement.lang = ''</script>`: "its language is not said",
	} {
		p := Open(t, View{})
		p.Open(site(t, map[string]string{"/": body}))
		wrong := strings.Join(p.Unreadable(), "\n")
		if want == "" && wrong != "" || !strings.Contains(wrong, want) {
			t.Errorf("%s: %q, want %q", body[len(good):], wrong, want)
		}
	}
}
