package wire

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Keys is an error about a JSON object with a key that is there twice (the parser would take the last one), or in other
// letters (it would take Content for content). The text must be one that the parser has read. The keys of headers may
// have any letters.
func Keys(text []byte) error {
	k := keys{rest: text}
	k.value(false)
	return k.wrong
}

// capital are the names that have other letters: those of sdmq.
var capital = map[string]bool{"bizKey": true, "jobId": true, "createTime": true}

type keys struct {
	rest  []byte
	wrong error
}

// value passes over one value. The keys in it are free if they are no names of fields.
func (k *keys) value(free bool) {
	switch k.next() {
	case '{':
		k.object(free)
	case '[':
		for k.step(); k.wrong == nil && k.next() != ']'; k.comma() {
			k.value(free)
		}
		k.step()
	case '"':
		k.text()
	default: // a number, true, false or null
		k.rest = k.rest[len(k.rest)-len(bytes.TrimLeft(k.rest, "+-.0123456789aeflnrstuE")):]
	}
}

func (k *keys) object(free bool) {
	const few = 8
	var names []string // the first few
	var more map[string]bool
	for k.step(); k.wrong == nil && k.next() != '}'; k.comma() {
		name := k.text()
		is := name // what the parser takes it for
		if !free {
			is = strings.ToLower(name)
		}
		switch {
		case more[is] || slices.Contains(names, is):
			k.wrong = &FieldError{Field: name, Value: "there twice", Limit: "there once", text: fmt.Sprintf("the field %q is there twice", name)}
			return
		case !free && !capital[name] && strings.ContainsFunc(name, func(r rune) bool { return r > unicode.MaxASCII || unicode.IsUpper(r) }):
			k.wrong = &FieldError{Field: name, Value: "unknown", Limit: "a field that is known here", text: fmt.Sprintf("there is no field %q here: names of fields have small letters of ASCII", name)}
			return
		case len(names) < few:
			names = append(names, is)
		default:
			if more == nil {
				more = map[string]bool{}
			}
			more[is] = true
		}
		k.next()
		k.step() // the colon
		k.value(free || name == "headers")
	}
	k.step()
}

// text passes over a text, and is what it says.
func (k *keys) text() (says string) {
	end := 1
	for ; k.rest[end] != '"'; end++ {
		if k.rest[end] == '\\' {
			end++
		}
	}
	written := k.rest[:end+1]
	k.rest = k.rest[end+1:]
	if bytes.IndexByte(written, '\\') < 0 {
		return string(written[1:end])
	}
	_ = json.Unmarshal(written, &says) // the parser has read it before
	return says
}

// next is the first byte behind the white space.
func (k *keys) next() byte {
	k.rest = bytes.TrimLeft(k.rest, " \t\r\n")
	return k.rest[0]
}

func (k *keys) step() { k.rest = k.rest[1:] }

// comma passes over the one behind a value, if there is one.
func (k *keys) comma() {
	if k.wrong == nil && k.next() == ',' {
		k.step()
	}
}
