package frame

import (
	"encoding/base64"
	"strconv"
	"time"

	"github.com/slotmq/go-rmq/internal/columns"
	"github.com/slotmq/go-rmq/internal/wire"
	"github.com/slotmq/go-rmq/internal/words"
)

// Contents are those of messages, as they are given and shown.
type Contents struct {
	Base64 bool // in both ways
}

// ReadContent reads a CONTENT from the command line.
func (s *Contents) ReadContent(arg string) (string, error) {
	if !s.Base64 {
		return arg, nil
	}
	content, err := base64.StdEncoding.DecodeString(arg)
	if err != nil {
		return "", Misused("with --base64 contents are base64, and %s is not: %w", strconv.Quote(columns.Shorten(arg, 40)), err)
	}
	return string(content), nil
}

// Text is a content as it is shown to people.
func (s *Contents) Text(content string) string {
	if s.Base64 {
		return base64.StdEncoding.EncodeToString([]byte(content))
	}
	return words.Legible(content)
}

// Brief is a content as a sentence has it.
func (s *Contents) Brief(content string) string { return columns.Shorten(s.Text(content), 60) }

// Shown is a content in JSON. With --base64 it is base64 in any case.
func (s *Contents) Shown(content string) wire.Shown { return wire.Show(content, s.Base64) }

// Moment is a time as the clock on the wall here shows it.
func Moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05.000") }
