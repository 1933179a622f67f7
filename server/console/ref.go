package console

import (
	"encoding/base64"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/words"
)

// How an address or a form names a message: by its content, if that is short and may be seen; in forms by its content
// in base64; or else by its slot and the hash of its content, by which it is looked for where it was seen.

const (
	longestNamed = 1000   // bytes of a content in an address
	mostSearched = 10_000 // messages of a slot that are compared with a hash
)

// hashParams name a message without its content.
func (c *Console) hashParams(e inspector.Entry) url.Values {
	return url.Values{"slot": {strconv.Itoa(e.Slot)}, "hash": {c.digest(e.Content)}, "state": {string(e.State)}}
}

// linkOf is the address of the page of a message.
func (c *Console) linkOf(topic string, e inspector.Entry) string {
	q := url.Values{}
	if c.cfg.HideContents || len(e.Content) > longestNamed {
		q = c.hashParams(e)
	} else {
		q.Set("content", e.Content)
	}
	q.Set("topic", topic)
	return "message?" + q.Encode()
}

// fieldsOf are the fields of a form that name a message, with their values.
func (c *Console) fieldsOf(e inspector.Entry) map[string]string {
	if !c.cfg.HideContents {
		return map[string]string{"base64": base64.StdEncoding.EncodeToString([]byte(e.Content))}
	}
	fields := map[string]string{}
	for name, values := range c.hashParams(e) {
		fields[name] = values[0]
	}
	return fields
}

// content is the content of the message that is named.
func (v *visit) content() (string, error) {
	if hash := v.param("hash"); hash != "" {
		return v.sought(hash)
	}
	if text := v.param("base64"); text != "" {
		content, err := base64.StdEncoding.DecodeString(text)
		if err != nil {
			return "", errTorn
		}
		return string(content), nil
	}
	content := v.param("content")
	if content == "" {
		return "", refused("Which message? Write its content, byte by byte.")
	}
	return content, nil
}

// sought is what search has found. A stream searches once: many messages are read for it.
func (v *visit) sought(hash string) (string, error) {
	if v.searched != nil {
		return v.searched()
	}
	content, err := v.search(hash)
	var gone *problem
	if err == nil || errors.As(err, &gone) {
		v.searched = func() (string, error) { return content, err }
	}
	return content, err
}

// search finds the content with a hash where its message was seen, or anywhere else in its slot.
func (v *visit) search(hash string) (string, error) {
	slot, err := strconv.Atoi(v.param("slot"))
	if err != nil {
		return "", refused("The address names a message by its hash, and not its slot. Begin at a list again.")
	}
	states := []inspector.State{inspector.State(v.param("state"))}
	for _, s := range []inspector.State{inspector.Waiting, inspector.InFlight, inspector.Retrying, inspector.Dead} {
		if s != states[0] {
			states = append(states, s)
		}
	}
	if !known(states[0]) {
		states = states[1:]
	}
	for _, state := range states {
		content, found, err := v.searchIn(v.param("topic"), state, slot, hash)
		if err != nil || found {
			return content, err
		}
	}
	return "", &problem{http.StatusNotFound, "This message is not among the first " + words.Grouped(mostSearched) +
		" of its slot. It may have been handled, cancelled or deleted."}
}

func known(s inspector.State) bool {
	return s == inspector.Waiting || s == inspector.InFlight || s == inspector.Retrying || s == inspector.Dead
}

func (v *visit) searchIn(topic string, state inspector.State, slot int, hash string) (content string, found bool, err error) {
	for e, err := range v.inspector.Peek(v.ctx, topic, state, []int{slot}, mostSearched) {
		if err != nil {
			return "", false, err
		}
		if strings.EqualFold(v.digest(e.Content), hash) {
			return e.Content, true, nil
		}
	}
	return "", false, nil
}
