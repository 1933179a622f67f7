package consumer

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.uber.org/zap"
)

// What the log says about messages.

// privacy says whether contents are kept out of it: Config.HideContents.
type privacy bool

// content is the field that names a message; none if that is hidden, or not known.
func (hide privacy) content(content string) []zap.Field {
	if hide || content == "" {
		return nil
	}
	return []zap.Field{zap.String("content", shorten(content))}
}

// about are the fields that every line about a message has, before those of its own.
func (b *batch) about(d *Delivery, more ...zap.Field) []zap.Field {
	fields := append(make([]zap.Field, 0, 4+len(more)), zap.String("topic", d.Topic.Name), zap.Int("slot", d.Slot))
	fields = append(fields, b.hide.content(d.Content)...)
	return append(append(fields, zap.Int("attempt", d.Attempt)), more...)
}

// text is what somebody has said about messages of the batch, such as an error of a
// handler. It may repeat their contents.
func (b *batch) text(said any) string {
	text := fmt.Sprint(said)
	if !b.hide {
		return text
	}
	contents := slices.Clone(b.answer.Contents)
	slices.SortFunc(contents, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may be a part of another
	var hidden []string
	for _, content := range contents {
		hidden = append(hidden, content, "…")
	}
	return strings.NewReplacer(hidden...).Replace(text)
}
