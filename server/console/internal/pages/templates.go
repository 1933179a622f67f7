package pages

import (
	"html/template"
	"net/url"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/internal/text/words"
	"github.com/slotmq/go-rmq/server/console/internal/contents"
	"github.com/slotmq/go-rmq/server/tokens"
)

// layout is what all pages have.
var layout = template.Must(template.New("layout").Funcs(functions).ParseFS(files, "html/layout.html"))

// Of is the template of a page, which fills the blocks of the layout.
func Of(file string) *template.Template {
	return template.Must(template.Must(layout.Clone()).ParseFS(files, "html/"+file+".html"))
}

// Problem is the page of what went wrong.
var Problem = Of("problem")

// ProblemText is what stands above a page that could not be read.
func ProblemText(text string) string {
	return `<p class="banner bad" role="alert">` + template.HTMLEscapeString(text) + `</p>`
}

// functions are what templates call.
var functions = template.FuncMap{
	"grouped": words.Grouped, "count": words.Count, "span": humantime.Duration, "rate": humantime.Rate, "moment": Moment, "stamp": stamp,
	"text": words.Legible, "holder": protocol.HolderName, "brief": contents.Brief, "at100": at100,
	"anyone": func() string { return tokens.Anyone.Name },
	"since":  func(t time.Time) string { return humantime.Duration(time.Since(t)) },
	"ago":    func(t time.Time) string { return humantime.Ago(time.Since(t)) },
}

// Moment is a time as all who read the page understand it, wherever they are.
func Moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

// stamp is a time as programs write it.
func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// at100 is how long so many messages take at 100 a second.
func at100(n int) string {
	return humantime.Duration(max(time.Second, time.Duration(n)*10*time.Millisecond))
}

// doneTexts are what forms have done, by the word in the address that they lead to.
var doneTexts = map[string]string{
	"unlimit":         "The limit is over.",
	"limit":           "The topic is limited. Workers know within a few seconds.",
	"cancelled":       "The message is cancelled: it will not be handled.",
	"cancelled-asked": "The message is cancelled. A copy of it is being handled: its handler is asked to stop.",
	"asked":           "The message is being handled: its handler is asked to stop.",
	"nowhere":         "Nothing to cancel: the message is not here any more.",
	"rescheduled":     "The message has its new time or priority.",
	"plan-stopped":    "The plan is stopped. What it has sent already is delivered.",
	"plan-gone":       "There is no such plan any more.",
}

// Done is what the last form has done, by a word and a number in the address that it has led to. The address
// cannot make a page say anything else.
func Done(q url.Values) string {
	n, _ := strconv.Atoi(q.Get("n"))
	switch done := q.Get("done"); {
	case done == "pause" && n == 0:
		return "Nothing to do: they were paused already."
	case done == "pause":
		return words.Count(n, "slot") + " paused. What is in flight is finished."
	case done == "resume" && n == 0:
		return "Nothing to do: none was paused."
	case done == "resume":
		return words.Count(n, "slot") + " resumed."
	default:
		return doneTexts[done]
	}
}
