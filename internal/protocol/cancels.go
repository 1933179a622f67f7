package protocol

import (
	"slices"
	"strconv"
	"strings"
)

// Cancels are the messages of a batch in flight that its worker is asked to end: hashes of
// their contents. meta has them in the field cancel, behind the number of the batch.
type Cancels []string

// parseCancels reads 'number hash hash …', if it is about that batch.
func parseCancels(note string, number int64) Cancels {
	words := strings.Fields(note)
	if len(words) < 2 || words[0] != strconv.FormatInt(number, 10) {
		return nil
	}
	return words[1:]
}

// Has reports whether a message is among them.
func (c Cancels) Has(content string) bool {
	return slices.Contains(c, hashOfContent(content))
}
