package console

import "html/template"

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
