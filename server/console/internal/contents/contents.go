package contents

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/text/words"
)

// Contents are those of messages, which people may see or not.
type Contents struct {
	Hidden bool
	key    []byte // of digests
}

// New returns contents that are hidden or not.
func New(hidden bool) Contents { return Contents{hidden, []byte(rand.Text())} }

// longestShown is how much of a content a list shows, in characters.
const longestShown = 120

// Shown is a content in a list.
func (c Contents) Shown(content string) string {
	if c.Hidden {
		return fmt.Sprintf("%s, #%s", words.Count(len(content), "byte"), c.Digest(content)[:8])
	}
	return shorten(words.Legible(words.Head(content, 4*longestShown)))
}

// Brief is an error in a list.
func Brief(reason string) string {
	if reason == "" {
		return "not known"
	}
	line, _, _ := strings.Cut(reason, "\n")
	return shorten(words.Legible(strings.TrimSpace(words.Head(line, 4*longestShown))))
}

// shorten cuts a text that is too long for a list.
func shorten(s string) string {
	n := 0
	for at := range s {
		if n++; n > longestShown {
			return s[:at] + "…"
		}
	}
	return s
}

// Digest names a content that is too long for an address, or not to be seen. Where contents are hidden it has a key of the
// process, so that no one can find a content by its digest.
func (c Contents) Digest(content string) string {
	h := sha256.New()
	if c.Hidden {
		h = hmac.New(sha256.New, c.key)
	}
	h.Write([]byte(content))
	return hex.EncodeToString(h.Sum(nil))
}

// Pick names a dead message: its slot, when it died, and a part of the hash of its content.
func (c Contents) Pick(e inspector.Entry) string {
	return strconv.Itoa(e.Slot) + "." + strconv.FormatInt(e.Died.UnixMilli(), 10) + "." + c.Digest(e.Content)[:32]
}

// longestNamed is how long a content may be in an address, in bytes.
const longestNamed = 1000

// InAddress reports whether a content may stand in an address.
func (c Contents) InAddress(content string) bool { return !c.Hidden && len(content) <= longestNamed }

// hashParams name a message without its content.
func (c Contents) hashParams(e inspector.Entry) url.Values {
	return url.Values{"slot": {strconv.Itoa(e.Slot)}, "hash": {c.Digest(e.Content)}, "state": {string(e.State)}}
}

// Params name a message in an address.
func (c Contents) Params(topic string, e inspector.Entry) url.Values {
	q := url.Values{"content": {e.Content}}
	if !c.InAddress(e.Content) {
		q = c.hashParams(e)
	}
	q.Set("topic", topic)
	return q
}

// Link is the address of the page of a message.
func (c Contents) Link(topic string, e inspector.Entry) string {
	return "message?" + c.Params(topic, e).Encode()
}

// Fields are the fields of a form that name a message, with their values.
func (c Contents) Fields(e inspector.Entry) map[string]string {
	if !c.Hidden {
		return map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(e.Content))}
	}
	fields := map[string]string{}
	for name, values := range c.hashParams(e) {
		fields[name] = values[0]
	}
	return fields
}
