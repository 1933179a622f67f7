package frame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf16"
)

// Object prints a line of JSON. An error is kept, and the call ends with it: so who prints no more may ignore it.
func (p *Page) Object(v any) error {
	if p.broken == nil {
		var b bytes.Buffer
		err := AddLine(&b, v)
		if err == nil {
			_, err = p.Out.Write(b.Bytes())
		}
		if err != nil {
			p.broken = fmt.Errorf("write JSON: %w", err)
		}
	}
	return p.broken
}

// AddLine adds a line of JSON, with its end. What is not printable is escaped in it, also what
// JSON itself would leave as it is: a terminal obeys some of it, and some turns text around.
func AddLine(b *bytes.Buffer, v any) error {
	begin := b.Len()
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	line := bytes.TrimSuffix(b.Bytes()[begin:], []byte("\n"))
	if !bytes.ContainsFunc(line, unprintable) {
		return nil
	}
	text := string(line)
	b.Truncate(begin)
	for _, r := range text {
		switch high, low := utf16.EncodeRune(r); {
		case !unprintable(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(b, `\u%04x`, r)
		}
	}
	return b.WriteByte('\n')
}

func unprintable(r rune) bool { return !unicode.IsPrint(r) }
