package request

import (
	"encoding/base64"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/server/gateway/internal/problem"
)

// field is a text in a request that has to be read: into a *time.Duration or a *time.Time.
type field struct {
	name, text string
	to         any
}

// read reads some. An empty text was not given: its field stays as it is. A point in time has its zone: the clock on
// the wall here is not that of who asks.
func read(all ...field) (err error) {
	for _, f := range all {
		if f.text == "" {
			continue
		}
		switch to := f.to.(type) {
		case *time.Duration:
			if *to, err = humantime.ParseSpan(f.text); err != nil {
				return problem.Invalid(f.name, f.text, "a duration such as 90s, 1h30m or 7d")
			}
		case *time.Time:
			if *to, err = humantime.ParseStamp(f.text); err != nil {
				return problem.Invalid(f.name, strconv.Quote(f.text), "a time such as 2026-01-31T15:04:05Z")
			}
		}
	}
	return nil
}

// age is an error if an age was given that is 0.
func age(name, text string, is time.Duration) error {
	if text != "" && is < time.Millisecond {
		return problem.Invalid(name, text, "1ms or more; leave it out if the age does not matter")
	}
	return nil
}

// Rate reads how many a second, such as the example. Without a text, that is 0.
func Rate(text, example string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	return rate(text, example)
}

func rate(text, example string) (float64, error) {
	r, err := humantime.ParseRate(text)
	if err != nil {
		err = problem.Invalid("rate", strconv.Quote(text), "a rate from 3.6/h to 1000000/s, such as "+example)
	}
	return r, err
}

// someSlots is an error if a list of slots is there, and empty.
func someSlots(slots []int) error {
	if slots != nil && len(slots) == 0 {
		return problem.Invalid("slots", "[]", "the numbers of some slots; leave it out for all")
	}
	return nil
}

// Content is a content in a body: as a text, or in base64.
type Content struct {
	Text   *string `json:"content"`
	Base64 *[]byte `json:"content_base64"`
}

// read is the content, and whether there is one.
func (w Content) read() (content string, given bool, err error) {
	switch {
	case w.Text != nil && w.Base64 != nil:
		return "", true, problem.Invalid("content_base64", base64.StdEncoding.EncodeToString(*w.Base64), "missing where there is a content")
	case w.Text != nil:
		return *w.Text, true, nil
	case w.Base64 != nil:
		return string(*w.Base64), true, nil
	}
	return "", false, nil
}

// Named are the content and the basis among parameters, which say which message is meant.
func (q Query) Named() (content, basis string, err error) {
	content, text := q["content"], q["content_base64"]
	switch {
	case (content == "") == (text == ""):
		return "", "", problem.Invalid("content", "empty, or there beside content_base64", "what was sent, or else content_base64")
	case text != "":
		if content, err = unbase64(text); err != nil {
			return "", "", problem.Invalid("content_base64", text, "base64")
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
