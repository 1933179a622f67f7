package webtest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
	"github.com/slotmq/go-rmq/server/console"
)

var variable = regexp.MustCompile(`--([\w-]+):\s*light-dark\((#[0-9a-f]{6}),\s*(#[0-9a-f]{6})\)`)

// colours are those of the console's style, by name, light and dark.
func colours(t *testing.T) map[string][2]browser.Colour {
	t.Helper()
	c, err := console.New(console.Config{Redis: servertest.SharedRedis(t).Client(t)})
	must.Do(t, err)
	srv := httptest.NewServer(c)
	t.Cleanup(func() { c.Close(); srv.Close() })
	answer, err := http.Get(srv.URL + "/console.css")
	must.Do(t, err)
	defer answer.Body.Close()
	css, err := io.ReadAll(answer.Body)
	must.Do(t, err)
	all := map[string][2]browser.Colour{}
	for _, m := range variable.FindAllStringSubmatch(string(css), -1) {
		all[m[1]] = [2]browser.Colour{colour(t, m[2]), colour(t, m[3])}
	}
	return all
}

func colour(t *testing.T, s string) browser.Colour {
	t.Helper()
	c, err := browser.ParseColour(s)
	must.Do(t, err)
	return c
}

// The colours of the style fit together wherever they can meet, also in states that no other test brings about.
func TestContrastOfTheStyle(t *testing.T) {
	t.Parallel()
	all := colours(t)
	papers := []string{"paper", "raised", "good-paper", "warn-paper", "bad-paper", "busy-paper"}
	check := func(front, back string, least float64) {
		for theme, name := range []string{"light", "dark"} {
			a, known := all[front]
			b, also := all[back]
			if !known || !also {
				t.Fatalf("the style has no %s or no %s: %v", front, back, all)
			}
			if got := browser.Contrast(a[theme], b[theme]); got < least {
				t.Errorf("(%s) %s on %s: %.2f, at least %.1f is needed", name, front, back, got, least)
			}
		}
	}
	for _, paper := range papers {
		for _, text := range []string{"ink", "quiet", "link"} {
			check(text, paper, browser.TextContrast)
		}
		check("edge", paper, browser.EdgeContrast) // around fields and buttons
		check("link", paper, browser.EdgeContrast) // around what has the focus
	}
	for _, level := range []string{"good", "warn", "bad"} {
		for _, paper := range []string{"paper", "raised", level + "-paper"} {
			check(level, paper, browser.TextContrast)
		}
	}
	check("on-link", "link", browser.TextContrast)
}
