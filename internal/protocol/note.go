package protocol

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Note is what a topic with notes keeps of the sends that merged into a message: an entry of
// [NoteKey], written by send.lua as 'stamp sends first last expires headers'.
//
// No turn touches it. So it may be about an earlier copy of the content, or about a newer one than
// the copy in flight: see [Note.Tells].
type Note struct {
	Stamp       int64 // the fence of the slot at the newest send
	Sends       int64 // how many there were
	First, Last int64 // when, in ms
	Expires     int64 // ms from which on the message is not handled; 0: never
	Headers     map[string]string
}

// Tells reports whether the note is about the copy in the batch with that fence. A take makes the
// fence larger, so a note whose stamp is the fence of the batch, or more, is about a later copy.
func (n *Note) Tells(fence int64) bool { return n.Stamp < fence }

// ParseNote reads a note. It is false for a text that is none.
func ParseNote(text string) (n Note, ok bool) {
	words := strings.SplitN(text, " ", 6)
	if len(words) < 5 {
		return Note{}, false
	}
	for i, number := range []*int64{&n.Stamp, &n.Sends, &n.First, &n.Last, &n.Expires} {
		var err error
		if *number, err = strconv.ParseInt(words[i], 10, 64); err != nil {
			return Note{}, false
		}
	}
	if len(words) > 5 && json.Unmarshal([]byte(words[5]), &n.Headers) != nil {
		return Note{}, false
	}
	return n, true
}

// NoteArg is what a send tells for a note, as send.lua reads it: how long the message may live, in
// ms, 0 for ever; and its headers. It is empty without both.
func NoteArg(ttl int64, headers map[string]string) string {
	switch {
	case len(headers) > 0:
		return strconv.FormatInt(ttl, 10) + " " + headersText(headers)
	case ttl > 0:
		return strconv.FormatInt(ttl, 10)
	}
	return ""
}

// headersText is JSON, sorted by key.
func headersText(headers map[string]string) string {
	var text strings.Builder
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false) // a query in a URL stays as short as it is
	_ = to.Encode(headers)  // texts can always be written
	return strings.TrimSuffix(text.String(), "\n")
}

// String is the entry of [NoteKey] that says so.
func (n *Note) String() string {
	text := fmt.Sprintf("%d %d %d %d %d", n.Stamp, n.Sends, n.First, n.Last, n.Expires)
	if len(n.Headers) > 0 {
		text += " " + headersText(n.Headers)
	}
	return text
}
