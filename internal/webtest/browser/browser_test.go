package browser

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp/kb"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

func TestMain(m *testing.M) { servertest.Main(m) }

// site serves pages by their paths. A good one needs only its body.
func site(t *testing.T, pages map[string]string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, ok := pages[r.URL.Path]
		switch {
		case !ok:
			http.NotFound(w, r)
		case strings.HasSuffix(r.URL.Path, ".js"):
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, body)
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, `<!doctype html><html lang=en><meta name=viewport content="width=device-width"><link rel=icon href=data:,><title>a page</title>`, body)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestAFinePage(t *testing.T) {
	t.Parallel()
	url := site(t, map[string]string{
		"/":     `<h1>Topics</h1><form action=/two><label>Where is <input name=q value=old></label><button>Look</button></form><p id=p></p><script src=/a.js></script>`,
		"/a.js": `setTimeout(() => document.getElementById('p').textContent = 'by script', 50); document.querySelector('input').onkeydown = e => { if (e.key == 'x') document.title = 'typed' }`,
		"/two":  `<h1>Found</h1><p><a href="/">back</a></p>`,
	})
	for _, v := range []View{{}, {Width: 390, Dark: true}} {
		p := Open(t, v)
		p.Open(url)
		p.WaitFor("p", "by script")
		p.Fill("input", "new x & y")
		if title := Value[string](p, "document.title"); title != "typed" {
			t.Errorf("no key was pressed: the title is %q", title)
		}
		p.Press(kb.Tab)
		if focused := Value[string](p, "document.activeElement.tagName"); focused != "BUTTON" {
			t.Errorf("Tab goes to %s", focused)
		}
		p.Follow("button")
		if at := p.Address(); at != url+"/two?q=new+x+%26+y" {
			t.Errorf("the form leads to %s", at)
		}
		if text := p.Text("h1"); text != "Found" {
			t.Errorf("h1 is %q", text)
		}
		p.Fine()
		if p.ScrollsSideways() || len(p.TooWide()) > 0 {
			t.Errorf("(%v) it scrolls sideways: %q", v, p.TooWide())
		}
		if dark := Value[bool](p, "matchMedia('(prefers-color-scheme: dark)').matches"); dark != v.Dark {
			t.Errorf("(%v) dark: %t", v, dark)
		}
		picture, err := png.DecodeConfig(bytes.NewReader(p.Screenshot()))
		if err != nil || int64(picture.Width) != p.Width {
			t.Errorf("(%v) the screenshot is %d px wide: %v", v, picture.Width, err)
		}
		if n := len(p.Requests()); n != 3 {
			t.Errorf("%d requests: %+v", n, p.Requests())
		}
	}
}

// Each fault must be noticed: a test of pages that notices nothing proves nothing.
func TestFaultsAreNoticed(t *testing.T) {
	t.Parallel()
	other := site(t, map[string]string{"/x.js": ""})
	for name, c := range map[string]struct{ body, want string }{
		"console error":   {`<script>console.error('bad', 7)</script>`, `console error: "bad" 7`},
		"console warning": {`<script>console.warn('odd')</script>`, `console warning: "odd"`},
		"assertion":       {`<script>console.assert(false, 'not so')</script>`, `console assert: "not so"`},
		"exception":       {`<script>nothing.at.all()</script>`, "exception: Uncaught ReferenceError: nothing is not defined"},
		"lost promise":    {`<script>Promise.reject(new Error('lost'))</script>`, "lost"},
		"against the CSP": {`<meta http-equiv=Content-Security-Policy content="style-src 'none'"><style>p{}</style>`, "Content Security Policy"},
		"missing file":    {`<script src=/gone.js></script>`, "answer 404 from"},
		"no server":       {`<script src=//127.0.0.1:1/x.js></script>`, "no answer: net::"},
		"other server":    {`<script src=` + other + `/x.js></script>`, "a request to another server: GET " + other},
		"websocket":       {`<script>new WebSocket('ws://127.0.0.1:1/')</script>`, "a request to another server: GET ws://127.0.0.1:1/"},
		"dialog":          {`<script>alert('harm')</script>`, "a dialog: alert: harm"},
		"sent elsewhere":  {`<script>navigator.sendBeacon('` + other + `/x.js')</script>`, "a request to another server: POST " + other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := Open(t, View{})
			p.Open(site(t, map[string]string{"/": c.body}))
			p.until("hear "+c.want, func() error {
				if faults := strings.Join(p.heard(), "\n"); !strings.Contains(faults, c.want) {
					return fmt.Errorf("heard only %q", faults)
				}
				return nil
			})
			p.Faults()
			if again := strings.Join(p.Faults(), "\n"); strings.Contains(again, c.want) {
				t.Errorf("it is told twice: %q", again)
			}
		})
	}
}

func TestTooWideIsNoticed(t *testing.T) {
	t.Parallel()
	row := "<table><tr><td>" + strings.Repeat("wide", 100) + "</table>"
	for body, wide := range map[string]bool{
		row: true,
		`<div style="overflow-x: auto">` + row + `</div>`:           false,
		`<div style="width: 391px">x</div>`:                         true,
		`<body style="margin: 0"><div style="width: 390px">x</div>`: false,
	} {
		p := Open(t, View{Width: 390})
		p.Open(site(t, map[string]string{"/": body}))
		if p.ScrollsSideways() != wide || wide && len(p.TooWide()) == 0 {
			t.Errorf("%.60s scrolls: %t, too wide: %q", body, !wide, p.TooWide())
		}
	}
	p := Open(t, View{})
	p.Open(site(t, map[string]string{"/": `<div style="width: 1281px">x</div>`}))
	if !p.ScrollsSideways() {
		t.Error("1281 of 1280 px are not noticed")
	}
}

func TestBrokenWordsAreNoticed(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`<table style="width: 40px; table-layout: fixed; overflow-wrap: anywhere"><tr><td>Retrying</table>`:               "[Retrying]",
		`<table style="width: 40px; table-layout: fixed; overflow-wrap: anywhere"><tr><td><a href=x>Retrying</a></table>`: "[Retrying]",
		`<table style="width: 40px; table-layout: fixed; overflow-wrap: anywhere"><tr><td class=text>Retrying</table>`:    "[]",
		`<table style="width: 40px; table-layout: fixed"><tr><td>in the one line after another</table>`:                   "[]",
	} {
		p := Open(t, View{Width: 390})
		p.Open(site(t, map[string]string{"/": body}))
		if got := fmt.Sprint(p.BrokenWords()); got != want {
			t.Errorf("%s breaks %s, want %s", body, got, want)
		}
	}
}

func TestWithoutScript(t *testing.T) {
	t.Parallel()
	url := site(t, map[string]string{
		"/":    `<p>by server</p><noscript><form method=get action=/two><button>Go</button></form></noscript><script>document.querySelector('p').textContent = 'by script'</script>`,
		"/two": `<h1>Two</h1>`,
	})
	p := Open(t, View{NoScript: true})
	p.Open(url)
	if text := p.Text("p"); text != "by server" {
		t.Errorf("a script ran: %q", text)
	}
	p.Follow("button")
	p.WaitFor("h1", "Two")
	p.Fine()
}

func TestQuestions(t *testing.T) {
	t.Parallel()
	p := Open(t, View{})
	p.Open(site(t, map[string]string{"/": `<button onclick="this.textContent = confirm('Really?') ? 'yes' : 'no'">Delete</button>`}))
	p.Click("button")
	p.WaitFor("button", "no")
	if faults := p.Faults(); len(faults) != 1 || faults[0] != "a dialog: confirm: Really?" {
		t.Errorf("a question is no fault: %q", faults)
	}
}

func TestTree(t *testing.T) {
	t.Parallel()
	p := Open(t, View{})
	p.Open(site(t, map[string]string{"/": `<h1>One</h1><h2>Two</h2><button aria-label="Pause orders">⏸</button><button></button>
		<label>Where is <input></label><input type=search><table><thead><tr><th scope=col>Topic<tbody><tr><td>orders</table>`}))
	tree := p.Tree()
	var got []string
	for _, n := range tree.All("heading", "button", "textbox", "searchbox", "columnheader") {
		got = append(got, fmt.Sprintf("%s %q %d", n.Role, n.Name, n.Level))
	}
	want := `heading "One" 1, heading "Two" 2, button "Pause orders" 0, button "" 0, textbox "Where is" 0, searchbox "" 0, columnheader "Topic" 0`
	if strings.Join(got, ", ") != want {
		t.Errorf("the tree has %s,\nwant         %s\n%v", strings.Join(got, ", "), want, tree)
	}
	tables := tree.All("table")
	if len(tables) != 1 || len(tables[0].All("columnheader")) != 1 || len(tables[0].All("cell")) != 1 {
		t.Errorf("the table is\n%v", tree)
	}
}

func TestHideAndShow(t *testing.T) {
	t.Parallel()
	p := Open(t, View{})
	p.Open(site(t, map[string]string{"/": `<p>start</p><script>
		document.addEventListener('visibilitychange', () => document.querySelector('p').append(' ' + document.visibilityState))
	</script>`}))
	p.Hide()
	p.Show()
	if text := p.Text("p"); text != "start hidden visible" {
		t.Errorf("it noticed: %q", text)
	}
	p.Fine()
}

// patient is a test that ends when its page does not do what it is asked for.
type patient struct {
	testing.TB
	said string
}

func (w *patient) Helper() {}
func (w *patient) Fatalf(format string, args ...any) {
	w.said = fmt.Sprintf(format, args...)
	panic(w)
}

// failure is what a test says that ends with f.
func failure(t *testing.T, p *Page, f func()) (said string) {
	t.Helper()
	w := &patient{TB: t}
	p.t = w
	defer func() {
		p.t = t
		if r := recover(); r != nil && r != any(w) {
			panic(r)
		}
		said = w.said
	}()
	f()
	return ""
}

func TestWhatCannotBeDoneEndsTheTest(t *testing.T) {
	t.Parallel()
	p := Open(t, View{})
	url := site(t, map[string]string{"/": `<h1>Shown here</h1><button style="position: absolute; top: 200px">Under</button>
		<div id=above style="position: absolute; top: 0; width: 100%; height: 500px; opacity: 0.2"></div>
		<select><option>a</select>`})
	for name, c := range map[string]struct {
		do   func()
		want string
	}{
		"click below":  {func() { p.Click("button") }, `click button: above it lies <div id="above"`},
		"choose none":  {func() { p.Choose("select", "b") }, `choose "b" in select: there is no such option`},
		"no server":    {func() { p.Open("http://127.0.0.1:1/") }, "open http://127.0.0.1:1/: "},
		"an exception": {func() { Value[int](p, "nothing.at.all") }, "nothing is not defined"},
	} {
		p.Open(url)
		if said := failure(t, p, c.do); !strings.Contains(said, c.want) {
			t.Errorf("%s: %q", name, said)
		}
	}
}

func TestAPageThatNeverShowsIt(t *testing.T) {
	t.Parallel()
	p := Open(t, View{})
	p.Open(site(t, map[string]string{"/": `<h1>Shown here</h1><p hidden>Not shown</p><script>console.error('odd')</script>`}))
	p.Patience = time.Second
	for _, f := range []func(){
		func() { p.WaitFor("p", "Not shown") }, func() { p.WaitFor("h2", "") }, func() { p.WaitGone("h1", "Shown") }, func() { p.Click("p") },
	} {
		said := failure(t, p, f)
		for _, want := range []string{"wait for ", "not within 1s", "(1280 px, light)", p.Address(), "Shown here", `console error: "odd"`} {
			if !strings.Contains(said, want) {
				t.Errorf("it does not say %q:\n%s", want, said)
			}
		}
	}
}

// The browser leaves nothing: no process, no file.
func TestTheEnd(t *testing.T) {
	t.Parallel()
	c, err := start(program(t))
	if err != nil {
		t.Fatal(err)
	}
	if len(c.processes()) < 2 {
		t.Errorf("processes: %q", c.processes()) // a check of nothing finds nothing
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(c.folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("its folder is there: %v", err)
	}
}

func TestDoubleClick(t *testing.T) {
	t.Parallel()
	p := Open(t, View{})
	p.Open(site(t, map[string]string{"/two": "<h1>Two</h1>", "/": `<button onclick="sessionStorage.n = Number(sessionStorage.n || 0) + 1; if (sessionStorage.n == 2) location = '/two'">Go</button>`}))
	p.DoubleClick("button")
	if clicks := Value[string](p, "sessionStorage.n"); clicks != "2" {
		t.Errorf("%s clicks", clicks)
	}
	p.WaitFor("h1", "Two")
	p.Fine()
}
