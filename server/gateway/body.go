package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/wire"
)

// The types of bodies.
const (
	jsonType   = "application/json"
	streamType = "application/x-ndjson"
	formType   = "application/x-www-form-urlencoded" // of curl -d, and not read
)

// bodyType is the type of the body, one of those that are read.
func (c *call) bodyType(read ...string) (string, error) {
	given := c.r.Header.Get("Content-Type")
	is, _, err := mime.ParseMediaType(given)
	for _, t := range read {
		if err == nil && is == t {
			return t, nil
		}
	}
	detail := fmt.Sprintf("Content-Type is %q; it must be %s", shorten(given), strings.Join(read, " or "))
	if is == formType {
		detail += ": give curl --json in place of -d, or -H 'Content-Type: application/json' beside it"
	}
	return "", &problem{Type: "wrong-type", Status: http.StatusUnsupportedMediaType, Field: "Content-Type", Value: shorten(given), Limit: strings.Join(read, " or "), Detail: detail}
}

// read reads the body into a struct. Fields that are not known are refused: one that is misspelt would be missing.
func (c *call) read(into any) error {
	if _, err := c.bodyType(jsonType); err != nil {
		return err
	}
	text, err := c.body()
	if err != nil {
		return err
	}
	return decode(text, into)
}

// body is the whole body.
func (c *call) body() ([]byte, error) {
	if c.r.ContentLength > int64(c.cfg.MaxBody) {
		return nil, c.tooLarge()
	}
	conn := http.NewResponseController(c.w)
	_ = conn.SetReadDeadline(time.Now().Add(c.bodyWithin)) // where it can be set
	text, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, int64(c.cfg.MaxBody)))
	if err == nil { // else what is left of the body, which net/http reads before it answers, would have no bound
		_ = conn.SetReadDeadline(time.Time{}) // it would end a take that waits
	}
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, c.tooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		p := badRequest("the body did not arrive within %v", c.bodyWithin)
		p.slow = true
		return nil, p
	case err != nil:
		return nil, badRequest("the body did not arrive whole: %v", err)
	}
	return text, nil
}

func (c *call) tooLarge() error {
	return &problem{Type: "too-large", Status: http.StatusRequestEntityTooLarge, Limit: fmt.Sprintf("%d bytes", c.cfg.MaxBody),
		Detail: fmt.Sprintf("the body is larger than %d bytes: send fewer messages at once, or start rmqd serve with a larger --max-body", c.cfg.MaxBody)}
}

// decode reads one JSON object.
func decode(text []byte, into any) error {
	if err := wire.Faithful(text); err != nil {
		return badRequest("%v", err)
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return unreadable(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badRequest("there is something behind the JSON object")
	}
	return wire.Keys(text)
}

// embedded are structs in others, whose names the parser adds to those of the fields.
var embedded = strings.NewReplacer("Message.", "", "defining.", "", "verdict.", "", "written.", "")

// unreadable says what is wrong in a JSON text.
func unreadable(err error) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var base base64.CorruptInputError
	why := strings.TrimPrefix(err.Error(), "json: ")
	switch {
	case errors.As(err, &kind) && kind.Field == "":
		return badRequest("the body is not a JSON object, but %s", wire.WithArticle(kind.Value))
	case errors.As(err, &kind):
		kind.Field = embedded.Replace(kind.Field)
		return wire.Plainer(kind)
	case errors.As(err, &base):
		return wire.Plainer(err)
	case errors.As(err, &syntax):
		return badRequest("the body is not JSON: %s, at byte %d", why, syntax.Offset)
	case errors.Is(err, io.EOF):
		return badRequest("the body is empty; it must be a JSON object")
	case errors.Is(err, io.ErrUnexpectedEOF):
		return badRequest("the JSON object has no end")
	}
	if name, is := strings.CutPrefix(why, "unknown field "); is {
		name = strings.Trim(name, `"`)
		return &problem{Type: "invalid", Status: http.StatusUnprocessableEntity, Field: shorten(name), Limit: "a field that is known here",
			Detail: fmt.Sprintf("there is no field %q here; openapi.json has those that there are", shorten(name))}
	}
	return badRequest("the body is not JSON: %s", why)
}

// answer writes an object.
func (c *call) answer(status int, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("write the answer: %w", err)
	}
	c.begun = true
	h := c.w.Header()
	h.Set("Content-Type", jsonType)
	h.Set("Cache-Control", "no-store")
	c.w.WriteHeader(status)
	_, err = c.w.Write(append(text, '\n'))
	return err
}
