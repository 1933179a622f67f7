package logs

import (
	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/text/words"
)

// Privacy says whether the contents of messages are kept out of the log.
type Privacy bool

// Content is the field that names a message; none if that is hidden, or not known.
func (hide Privacy) Content(content string) []zap.Field {
	if hide || content == "" {
		return nil
	}
	return []zap.Field{zap.String("content", Shorten(content))}
}

// Shorten keeps what is stored or logged for a person readable.
func Shorten(s string) string { return words.Shorten(s, 1000) }
