package commands

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode"
	"unicode/utf16"

	"github.com/slotmq/go-rmq/internal/wire"
)

// object prints a line of JSON.
func (a *app) object(v any) error {
	var b bytes.Buffer
	err := addLine(&b, v)
	if err == nil {
		_, err = a.out.Write(b.Bytes())
	}
	if err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// addLine adds a line of JSON, with its end. What is not printable is escaped in it, also what
// JSON itself would leave as it is: a terminal obeys some of it, and some turns text around.
func addLine(b *bytes.Buffer, v any) error {
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

// shown is a content in JSON. With --base64 it is base64 in any case.
func (a *app) shown(content string) wire.Shown { return wire.Show(content, a.base64) }
