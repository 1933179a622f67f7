package console

import (
	"fmt"
	"html/template"
	"time"

	"github.com/slotmq/go-rmq/internal/humantime"
)

// layout is what all pages have.
var layout = template.Must(template.New("layout").Funcs(functions).ParseFS(files, "pages/layout.html"))

// pageOf is the template of a page, which fills the blocks of the layout.
func pageOf(file string) *template.Template {
	return template.Must(template.Must(layout.Clone()).ParseFS(files, "pages/"+file+".html"))
}

var problemPage = pageOf("problem")

// problemText is what stands above a page that could not be read.
func problemText(text string) string {
	return `<p class="banner bad" role="alert">` + template.HTMLEscapeString(text) + `</p>`
}

// problemOf says what went wrong, since when, and how old what you see is.
func problemOf(got reading) string {
	return fmt.Sprintf("%s You see what was there %s; this has gone wrong for %s, and is tried again.",
		sentence(got.err), humantime.Ago(time.Since(got.at)), humantime.Duration(time.Since(got.failing)))
}
