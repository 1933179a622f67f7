package gateway

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// query are the parameters behind the ? of a request.
type query map[string]string

// query reads them. One that is not known is refused, as one that is misspelt would be missing, and so is one that is
// given twice.
func (c *call) query(known ...string) (query, error) {
	values, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return nil, badRequest("what follows the ? cannot be read: %s", strings.ToValidUTF8(err.Error(), "\ufffd"))
	}
	q := query{}
	for name, all := range values {
		switch {
		case !slices.Contains(known, name):
			limit := "missing: there are no parameters here"
			if known != nil {
				limit = "one of " + strings.Join(known, ", ")
			}
			return nil, &problem{Type: "invalid", Status: http.StatusUnprocessableEntity, Field: shorten(name), Limit: limit,
				Detail: fmt.Sprintf("there is no parameter %q here; it must be %s", shorten(name), limit)}
		case len(all) > 1:
			return nil, invalid(name, fmt.Sprintf("given %d times", len(all)), "given once")
		}
		q[name] = all[0]
	}
	return q, nil
}

// number reads a parameter that is a whole number from 1 on.
func (q query) number(name string, otherwise, most int) (int, error) {
	text, given := q[name]
	if !given {
		return otherwise, nil
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > most {
		return 0, invalid(name, strconv.Quote(text), fmt.Sprintf("a whole number from 1 to %d", most))
	}
	return n, nil
}

// yes reads a parameter that is true or false.
func (q query) yes(name string, otherwise bool) (bool, error) {
	switch text, given := q[name]; {
	case !given:
		return otherwise, nil
	case text == "true":
		return true, nil
	case text == "false":
		return false, nil
	default:
		return false, invalid(name, strconv.Quote(text), "true or false")
	}
}

// The bounds of a page.
const (
	standardPage = 100
	maxPage      = 1000
)

// page is the part of a list that is answered: what comes after a name, and how much of it.
func page[T any](q query, all []T, name func(T) string) (part []T, more bool, err error) {
	limit, err := q.number("limit", standardPage, maxPage)
	if err != nil {
		return nil, false, err
	}
	if after, given := q["after"]; given {
		all = slices.DeleteFunc(all, func(one T) bool { return name(one) <= after })
	}
	more = len(all) > limit
	return all[:min(limit, len(all))], more, nil
}
