package logs

import (
	"fmt"
	"strings"
	"sync"

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

// Texts are what was said about some messages, such as an error of a handler.
type Texts struct {
	Privacy
	Contents []string // of the messages

	hider *strings.Replacer // made when it is needed first
	once  sync.Once
}

// Of is one of them, without the contents if these are hidden. It is shortened last: half a content would not be found.
func (t *Texts) Of(said any) string {
	text := fmt.Sprint(said)
	if t.Privacy {
		t.once.Do(func() { t.hider = Without(t.Contents...) })
		text = t.hider.Replace(text)
	}
	return Shorten(text)
}
