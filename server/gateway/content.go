package gateway

import (
	"encoding/base64"
	"strings"
)

// written is a content in a body: as a text, or in base64.
type written struct {
	Content *string `json:"content"`
	Base64  *[]byte `json:"content_base64"`
}

// read is the content, and whether there is one.
func (w written) read() (content string, given bool, err error) {
	switch {
	case w.Content != nil && w.Base64 != nil:
		return "", true, invalid("content_base64", base64.StdEncoding.EncodeToString(*w.Base64), "missing where there is a content")
	case w.Content != nil:
		return *w.Content, true, nil
	case w.Base64 != nil:
		return string(*w.Base64), true, nil
	}
	return "", false, nil
}

// named are the content and the basis in the query, which say which message is meant.
func (c *call) named() (content, basis string, err error) {
	q, err := c.query("content", "content_base64", "basis")
	if err != nil {
		return "", "", err
	}
	content, text := q["content"], q["content_base64"]
	switch {
	case (content == "") == (text == ""):
		return "", "", invalid("content", "empty, or there beside content_base64", "what was sent, or else content_base64")
	case text != "":
		if content, err = unbase64(text); err != nil {
			return "", "", invalid("content_base64", text, "base64")
		}
	}
	return content, q["basis"], nil
}

// unbase64 reads base64 in a query: also that for addresses, and with spaces, which each + that is not escaped becomes.
func unbase64(text string) (string, error) {
	text = strings.TrimRight(strings.NewReplacer("-", "+", "_", "/", " ", "+").Replace(text), "=")
	content, err := base64.RawStdEncoding.DecodeString(text)
	return string(content), err
}
