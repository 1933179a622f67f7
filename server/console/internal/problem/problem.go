package problem

import (
	"errors"
	"net/http"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/slotmq/go-rmq/message"
)

// Problem is an answer that is not the page that was asked for.
type Problem struct {
	Status int
	Text   string
}

func (p *Problem) Error() string { return p.Text }

// New is a problem with a status.
func New(status int, text string) *Problem { return &Problem{status, text} }

// Forbidden is something that this person may not do.
func Forbidden(text string) *Problem { return New(http.StatusForbidden, text) }

// Missing is something that there is not.
func Missing(text string) *Problem { return New(http.StatusNotFound, text) }

// Refused is an answer to a form that has a mistake.
func Refused(text string) error { return New(http.StatusUnprocessableEntity, text) }

// Mistake reports whether an error is a mistake in a form, which its page can show.
func Mistake(err error) bool {
	var p *Problem
	var invalid *message.InvalidError
	return errors.As(err, &p) && p.Status == http.StatusUnprocessableEntity || errors.As(err, &invalid)
}

// Answers to what several forms have.
var (
	Torn  = Refused("The form is incomplete. Open its page again.") // it is not as a page made it
	Slots = Refused("Slots are written as 3, or 3,7 or 0-5; leave the field empty for all.")
	Guess = Refused("This console hides contents, so that messages cannot be chosen by them.") // choosing by a part of a content would reveal the rest
)

// Glob is the answer to a pattern that cannot be read.
func Glob(err error) error {
	return Refused("The content is like order 47*, with * for any text and ? for one character: " + err.Error() + ".")
}

// titles are what stands above a problem, by the class of its status.
var titles = map[int]string{
	http.StatusUnauthorized: "Sign in", http.StatusForbidden: "Not allowed", http.StatusNotFound: "Not here",
	http.StatusServiceUnavailable: "Not now", http.StatusTooManyRequests: "Not now",
	http.StatusBadGateway: "That did not work", http.StatusGatewayTimeout: "That did not work",
}

// Title is what stands above a problem with a status.
func Title(status int) string {
	if title, known := titles[status]; known {
		return title
	}
	return "That cannot be done"
}

// Sentence is an error as a sentence.
func Sentence(err error) string { return capital(strings.ToValidUTF8(err.Error(), "\ufffd")) + "." }

func capital(s string) string {
	r, size := utf8.DecodeRuneInString(s)
	if word, _, _ := strings.Cut(s, " "); strings.ContainsAny(word, ":./_") { // a name
		return s
	}
	return string(unicode.ToUpper(r)) + s[size:]
}
