package request

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"slices"
	"strings"

	"github.com/slotmq/go-rmq/internal/text/wire"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
)

// The types of bodies.
const (
	JSON   = "application/json"
	Stream = "application/x-ndjson"
	form   = "application/x-www-form-urlencoded" // of curl -d, and not read
)

// Type is the type of a body, by its header: one of those that are read.
func Type(given string, read ...string) (string, error) {
	if is, _, err := mime.ParseMediaType(given); err == nil && slices.Contains(read, is) {
		return is, nil
	}
	limit := strings.Join(read, " or ")
	detail := "Content-Type is " + quoted(given) + "; it must be " + limit
	if is, _, err := mime.ParseMediaType(given); err == nil && is == form {
		detail += ": give curl --json in place of -d, or -H 'Content-Type: application/json' beside it"
	}
	return "", problem.WrongType(given, limit, detail)
}

// Decode reads one JSON object into a struct. Fields that are not known are refused: one that is misspelt would be missing.
func Decode(text []byte, into any) error {
	if err := wire.Faithful(text); err != nil {
		return problem.BadRequest("%v", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return unreadable(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return problem.BadRequest("there is something behind the JSON object")
	}
	return wire.Keys(text)
}

// embedded are structs in others, whose names the parser adds to those of the fields.
var embedded = strings.NewReplacer("Message.", "", "Topic.", "", "Verdict.", "", "Content.", "")

// unreadable says what is wrong in a JSON text.
func unreadable(err error) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var base base64.CorruptInputError
	why := strings.TrimPrefix(err.Error(), "json: ")
	switch {
	case errors.As(err, &kind) && kind.Field == "":
		return problem.BadRequest("the body is not a JSON object, but %s", wire.WithArticle(kind.Value))
	case errors.As(err, &kind):
		kind.Field = embedded.Replace(kind.Field)
		return wire.Plainer(kind)
	case errors.As(err, &base):
		return wire.Plainer(err)
	case errors.As(err, &syntax):
		return problem.BadRequest("the body is not JSON: %s, at byte %d", why, syntax.Offset)
	case errors.Is(err, io.EOF):
		return problem.BadRequest("the body is empty; it must be a JSON object")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return problem.BadRequest("the JSON object has no end")
	}
	if name, is := strings.CutPrefix(why, "unknown field "); is {
		name = strings.Trim(name, `"`)
		return problem.Unknown(name, "a field that is known here", "there is no field %s here; openapi.json has those that there are", quoted(name))
	}
	return problem.BadRequest("the body is not JSON: %s", why)
}
