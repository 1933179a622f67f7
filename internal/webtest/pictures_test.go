package webtest

import (
	"bytes"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/night"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
	"github.com/slotmq/go-rmq/server/console"
)

var (
	picturesTo    = flag.String("pictures", "", "the folder to write the pictures of docs/CONSOLE.md to")
	picturesAfter = flag.Duration("after", 0, "how long the shop is open before they are made: half an hour fills its history")
)

// TestPictures makes the pictures of docs/CONSOLE.md, of a shop at night:
//
//	go test -run Pictures -timeout 1h . -pictures ../../docs/console -after 30m
//
// Without a folder it only looks whether they could be made, by day one of each page, and whether docs/CONSOLE.md shows
// others.
func TestPictures(t *testing.T) {
	t.Parallel()
	rdb := wellKept(t)
	c, err := console.New(console.Config{Redis: rdb, Act: true})
	must.Do(t, err)
	srv := httptest.NewServer(c)
	t.Cleanup(func() { c.Close(); srv.Close() })
	s := newShop(t, rdb)
	s.goOn(*picturesAfter)
	s.getBusy()
	a := &album{t: t, at: srv.URL + "/", taken: map[string]bool{}}
	for _, v := range views {
		v.Patience = slow.Patience
		a.pages = append(a.pages, browser.Open(t, v))
	}
	a.pages[0].Open(a.at)
	a.pages[0].WaitFor(`tr:has(a[href="topic?topic=invoices"]) td:nth-child(6)`, "3") // in flight
	a.take("topics", "")
	a.take("topic", "topic?topic=invoices")
	a.take("dead", "dead?topic=orders")
	a.take("message", "message?topic=orders&content=order+4711%2C+12%2C50+EUR")
	a.take("workers", "workers")
	a.take("doctor", "doctor")

	s.night.Deploy(t)
	p := a.pages[0]
	p.Open(a.at + "requeue?topic=orders&group=no+such+tax+code%3A+XI")
	p.Fill("input[name=rate]", "20/s")
	p.Follow("form[action=requeue] button")
	await.True(t, "the bar is half way", func() bool { return browser.Value[float64](p, "document.querySelector('progress').position") >= 0.5 })
	a.take("requeue", p.Address()[len(a.at):])
	s.night.AwaitDead(t, 1)
	a.shown("../../docs/CONSOLE.md")
}

// album are the pictures of some pages, in all views.
type album struct {
	t     *testing.T
	at    string
	pages []*browser.Page
	taken map[string]bool // files
}

const (
	mostOfPicture = 150_000 // bytes: readers of a document wait for it
	highest       = 960     // pixels: what is below the fold of a long page is left out
)

// take takes the picture of one page in each view.
func (a *album) take(name, address string) {
	a.t.Helper()
	for i, p := range a.pages {
		file := fmt.Sprintf("%s-%s.png", name, p.Theme())
		if p.Width < 1280 {
			file = fmt.Sprintf("%s-%s-narrow.png", name, p.Theme())
		}
		a.taken[file] = true
		if *picturesTo == "" && i > 0 && !night.Is() {
			continue // each page is looked at in every way by TestPages
		}
		p.Open(a.at + address)
		p.Fine()
		if p.ScrollsSideways() {
			a.t.Errorf("(%v) %s is too wide: %q", p.View, address, p.TooWide())
		}
		if *picturesTo == "" {
			continue
		}
		picture, err := png.Decode(bytes.NewReader(p.Screenshot()))
		must.Do(a.t, err)
		var small bytes.Buffer
		must.Do(a.t, (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, plain(picture))) // and without what else is in it
		if small.Len() > mostOfPicture {
			a.t.Errorf("(%v) the picture of %s has %d bytes", p.View, address, small.Len())
		}
		must.Do(a.t, os.WriteFile(filepath.Join(*picturesTo, file), small.Bytes(), 0o644))
	}
}

// shown checks that a document shows pictures that are taken here, and that are there.
func (a *album) shown(document string) {
	a.t.Helper()
	text, err := os.ReadFile(document)
	must.Do(a.t, err)
	all := regexp.MustCompile(`"(console/([\w-]+\.png))"`).FindAllStringSubmatch(string(text), -1)
	if len(all) == 0 {
		a.t.Errorf("%s shows no picture", document)
	}
	for _, m := range all {
		if _, err := os.Stat(filepath.Join(filepath.Dir(document), m[1])); err != nil || !a.taken[m[2]] {
			a.t.Errorf("%s shows %s: taken %t, %v", document, m[1], a.taken[m[2]], err)
		}
	}
}

// plain is the upper part of a picture in the 256 colours that it has most of: a page of text has few others.
func plain(picture image.Image) image.Image {
	r := picture.Bounds()
	r.Max.Y = min(r.Max.Y, highest)
	seen := map[color.Color]int{}
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			seen[picture.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(seen), func(a, b color.Color) int { return seen[b] - seen[a] })
	few := image.NewPaletted(r, color.Palette(colours[:min(len(colours), 256)]))
	draw.Draw(few, r, picture, r.Min, draw.Src)
	return few
}
