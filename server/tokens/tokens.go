package tokens

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
)

// Right is something that may be done to topics.
type Right string

// The rights. None includes another one.
const (
	Send Right = "send" // send, cancel, reschedule, define topics
	Take Right = "take" // take, finish, extend
	Look Right = "look" // look at whatever there is
	Act  Right = "act"  // what a person on call does: requeue, delete, pause, limit, restore, recurring messages
)

var rights = []Right{Send, Take, Look, Act}

const rightNames = "send, take, look, act"

// Holder is who has a token.
type Holder struct {
	Name   string   `json:"name"`
	SHA256 string   `json:"sha256"` // of the token, in hex
	Rights []Right  `json:"rights"`
	Topics []string `json:"topics"` // names, with * for any text

	hash     [sha256.Size]byte
	patterns []pattern // one for each of Topics
}

// Anyone is the holder where no tokens are needed, who may do everything.
var Anyone = &Holder{Name: "anyone", Rights: rights, Topics: []string{"*"}, patterns: []pattern{patternOf("*")}}

// Has reports whether the holder has a right at some topic at least.
func (h *Holder) Has(r Right) bool { return slices.Contains(h.Rights, r) }

// May reports whether the holder has a right at a topic.
func (h *Holder) May(r Right, topic string) bool {
	return h.Has(r) && slices.ContainsFunc(h.patterns, func(p pattern) bool { return p.fits(topic) })
}

// File is a file of tokens. Any number of goroutines may use it.
type File struct {
	path    string
	holders atomic.Pointer[[]*Holder]
}

// Open reads a file.
func Open(path string) (*File, error) {
	f := &File{path: path}
	return f, f.Reread()
}

// Reread reads the file again. If that fails, what was read before stays.
func (f *File) Reread() error {
	text, err := os.ReadFile(f.path)
	if err == nil {
		var holders []*Holder
		if holders, err = parse(text); err == nil {
			f.holders.Store(&holders)
			return nil
		}
		err = fmt.Errorf("%s: %w", f.path, err)
	}
	return fmt.Errorf("read tokens: %w", err)
}

// Find is the holder of a token; nil if there is none. How long it takes does not reveal how near a
// guess is.
func (f *File) Find(token string) (found *Holder) {
	hash := sha256.Sum256([]byte(token))
	for _, h := range *f.holders.Load() {
		if subtle.ConstantTimeCompare(hash[:], h.hash[:]) == 1 {
			found = h
		}
	}
	return found
}

// content is what a file has.
type content struct {
	Tokens []*Holder `json:"tokens"`
}

func parse(text []byte) ([]*Holder, error) {
	var file content
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&file); err != nil {
		return nil, fmt.Errorf(`it is not as {"tokens": [{"name": "shop", "sha256": "…", "rights": ["send"], "topics": ["*"]}]}: %s`, strings.TrimPrefix(err.Error(), "json: "))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, errors.New("there is something behind the JSON object")
	}
	if len(file.Tokens) == 0 {
		return nil, errors.New("it has no tokens, so no one may do anything")
	}
	names, hashes := map[string]bool{}, map[[sha256.Size]byte]string{}
	for n, h := range file.Tokens {
		if h == nil || h.Name == "" || len(h.Name) > 100 || strings.ContainsFunc(h.Name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return nil, fmt.Errorf("token %d: name is missing, or longer than 100 bytes, or has control characters", n+1)
		}
		if err := h.check(); err != nil {
			return nil, fmt.Errorf("token %q: %w", h.Name, err)
		}
		if names[h.Name] {
			return nil, fmt.Errorf("token %q: there are two of this name", h.Name)
		}
		if other := hashes[h.hash]; other != "" {
			return nil, fmt.Errorf("token %q: it is the same token as %q", h.Name, other)
		}
		names[h.Name], hashes[h.hash] = true, h.Name
	}
	return file.Tokens, nil
}

func (h *Holder) check() error {
	sum, err := hex.DecodeString(h.SHA256)
	if err != nil || len(sum) != sha256.Size {
		return errors.New("sha256 is not 64 hexadecimal digits")
	}
	copy(h.hash[:], sum)
	if len(h.Rights) == 0 {
		return fmt.Errorf("rights is empty; it must have some of %s", rightNames)
	}
	for _, r := range h.Rights {
		if !slices.Contains(rights, r) {
			return fmt.Errorf("rights has %q; it must be one of %s", r, rightNames)
		}
	}
	if len(h.Topics) == 0 {
		return errors.New(`topics is empty; for all topics write ["*"]`)
	}
	for _, topic := range h.Topics {
		if topic == "" {
			return errors.New("topics has an empty name; for all topics write *")
		}
		h.patterns = append(h.patterns, patternOf(topic))
	}
	return nil
}
