package words

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// Text is a text of any bytes. As JSON it is {"base64": …} if it is no UTF-8. Plans and the journal store it so.
type Text string

type encoded struct {
	Base64 []byte `json:"base64"`
}

// MarshalJSON is a string that people can read, where that is possible.
func (t Text) MarshalJSON() ([]byte, error) {
	if !utf8.ValidString(string(t)) {
		return json.Marshal(encoded{[]byte(t)})
	}
	return json.Marshal(string(t))
}

// UnmarshalJSON reads both forms.
func (t *Text) UnmarshalJSON(text []byte) error {
	if !bytes.HasPrefix(text, []byte("{")) {
		return json.Unmarshal(text, (*string)(t))
	}
	var e encoded
	err := json.Unmarshal(text, &e)
	*t = Text(e.Base64)
	return err
}
