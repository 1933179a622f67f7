package problem

import (
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// Problem is an error as whoever asks sees it.
type Problem struct {
	Type   string `json:"type"` // urn:rmq: and a word
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`

	// What was wrong in what was asked.
	Field string `json:"field,omitempty"`
	Value string `json:"value,omitempty"`
	Limit string `json:"limit,omitempty"`

	// Uncertain: it may have been done. Doing it again is safe.
	Uncertain bool `json:"uncertain,omitempty"`

	// Missing are the parts of a topic that could not be reached.
	Missing []wire.Missing `json:"missing,omitempty"`

	After time.Duration `json:"-"` // ask again then; 0: nothing is said
	Slow  bool          `json:"-"` // net/http believes that a client which sends its body slowly has gone
}

func (p *Problem) Error() string { return p.Detail }

// types of problems. Each has one title and one status.
var types = map[string]struct {
	status int
	title  string
}{
	"bad-request":   {http.StatusBadRequest, "The request cannot be read"},
	"unauthorized":  {http.StatusUnauthorized, "No valid token"},
	"forbidden":     {http.StatusForbidden, "The token has not this right"},
	"other-site":    {http.StatusForbidden, "A page of another site may not do this"},
	"other-host":    {http.StatusForbidden, "The request names another host"},
	"not-found":     {http.StatusNotFound, "There is no such thing"},
	"unknown-topic": {http.StatusNotFound, "There is no such topic"},
	"wrong-method":  {http.StatusMethodNotAllowed, "The path is right, the method is not"},
	"conflict":      {http.StatusConflict, "It is not possible as things are"},
	"too-large":     {http.StatusRequestEntityTooLarge, "The request is too large"},
	"wrong-type":    {http.StatusUnsupportedMediaType, "The body is not of a type that is read here"},
	"invalid":       {http.StatusUnprocessableEntity, "A field is not valid"},
	"too-many":      {http.StatusTooManyRequests, "Too much at once"},
	"queue-full":    {http.StatusTooManyRequests, "The slot is full"},
	"unavailable":   {http.StatusServiceUnavailable, "It cannot be done now"},
}

// New is a problem of a type.
func New(kind, format string, args ...any) *Problem {
	return &Problem{Type: kind, Status: types[kind].status, Detail: fmt.Sprintf(format, args...)}
}

// BadRequest is a request that cannot be read.
func BadRequest(format string, args ...any) *Problem { return New("bad-request", format, args...) }

// Invalid is a field with a value that it may not have.
func Invalid(field, value, limit string) *Problem {
	return about(field, value, limit, New("invalid", "%s is %s; it must be %s", field, Shorten(value), limit))
}

// Unknown is a field that is not known here, or a parameter.
func Unknown(name, limit, format string, args ...any) *Problem {
	return about(Shorten(name), "", limit, New("invalid", format, args...))
}

// WrongType is a body of a type that is not read.
func WrongType(given, limit, detail string) *Problem {
	return about("Content-Type", given, limit, New("wrong-type", "%s", detail))
}

// Differs is a field that is not as the topic is defined.
func Differs(field, asked, is, defined string) *Problem {
	return about(field, asked, is, New("conflict",
		"%s is %s; the topic is defined as %s, and a topic never changes: leave out what defines it, or use another name", field, asked, defined))
}

func about(field, value, limit string, p *Problem) *Problem {
	p.Field, p.Value, p.Limit = field, Shorten(value), limit
	return p
}

// TooLarge is something of more than so many bytes.
func TooLarge(most int, format string) *Problem {
	return about("", "", fmt.Sprintf("%d bytes", most), New("too-large", format, most))
}

// NotNow is something that is not possible for some time: a problem of a type.
func NotNow(kind string, after time.Duration, format string, args ...any) *Problem {
	p := New(kind, format, args...)
	p.After = after
	return p
}

// Write answers with a problem.
func (p *Problem) Write(w http.ResponseWriter) {
	h := w.Header()
	if p.After > 0 {
		h.Set("Retry-After", strconv.Itoa(p.seconds()))
	}
	h.Set("Content-Type", "application/problem+json")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p.Full()) // whoever asked may have gone
}

// seconds until the client may ask again.
func (p *Problem) seconds() int { return int(math.Ceil(p.After.Seconds())) }

// Full is a problem as it is written.
func (p *Problem) Full() *Problem {
	full := *p
	if p.After > 0 {
		full.Detail += fmt.Sprintf("; ask again in %d s", p.seconds())
		if p.Uncertain {
			full.Detail += ", which is safe even if it was done"
		}
	}
	full.Type, full.Title = "urn:rmq:"+p.Type, types[p.Type].title
	return &full
}

// longestText is how much of a text of others is said back.
const longestText = 500

// Shorten is a text of others as it is said back.
func Shorten(s string) string { return words.Shorten(s, longestText) }
