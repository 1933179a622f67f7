package request

import (
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
)

// Query are the parameters behind the ? of a request.
type Query map[string]string

// The parameters that a request may have: none, a page of a list, a message, dead messages.
var (
	None     = []string{}
	Page     = []string{"after", "limit"}
	Named    = []string{"content", "content_base64", "basis"}
	Filtered = []string{"limit", "content", "content_base64", "content_regex", "reason", "older_than", "newer_than", "died_before", "died_after", "slots"}
)

// ReadQuery reads them. It refuses one that it does not know, since one that is misspelt would be missing, and one that
// is given twice.
func ReadQuery(text string, known []string) (Query, error) {
	values, err := url.ParseQuery(text)
	if err != nil {
		return nil, problem.BadRequest("what follows the ? cannot be read: %s", strings.ToValidUTF8(err.Error(), "\ufffd"))
	}
	q := Query{}
	for name, all := range values {
		switch {
		case !slices.Contains(known, name):
			limit := "missing: there are no parameters here"
			if len(known) > 0 {
				limit = "one of " + strings.Join(known, ", ")
			}
			return nil, problem.Unknown(name, limit, "there is no parameter %s here; it must be %s", quoted(name), limit)
		case len(all) > 1:
			return nil, problem.Invalid(name, fmt.Sprintf("given %d times", len(all)), "given once")
		}
		q[name] = all[0]
	}
	return q, nil
}

func quoted(text string) string { return strconv.Quote(problem.Shorten(text)) }

// Number reads a parameter that is a whole number from 1 on.
func (q Query) Number(name string, otherwise, most int) (int, error) {
	text, given := q[name]
	if !given {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, problem.Invalid(name, strconv.Quote(text), fmt.Sprintf("a whole number from 1 to %d", most))
	}
	return n, nil
}

// Yes reads a parameter that is true or false.
func (q Query) Yes(name string, otherwise bool) (bool, error) {
	switch text, given := q[name]; {
	case !given:
		return otherwise, nil
	case text == "true", text == "false":
		return text == "true", nil
	default:
		return false, problem.Invalid(name, strconv.Quote(text), "true or false")
	}
}

// Limit is how much of a list is answered.
func (q Query) Limit() (int, error) { return q.Number("limit", 100, 1000) }

// PageOf is the part of a list that is answered: what comes after a name, and how much of it.
func PageOf[T any](q Query, all []T, name func(T) string) (part []T, more bool, err error) {
	limit, err := q.Limit()
	if err != nil {
		return nil, false, err
	}
	if after, given := q["after"]; given {
		all = slices.DeleteFunc(all, func(one T) bool { return name(one) <= after })
	}
	more = len(all) > limit
	return all[:min(limit, len(all))], more, nil
}
