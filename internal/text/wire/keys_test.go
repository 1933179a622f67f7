package wire

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
)

// A field that is there twice, or in other letters, is refused wherever it is; a header may have any letters.
func TestEachFieldOnceAndInItsLetters(t *testing.T) {
	t.Parallel()
	var many strings.Builder
	for n := range 100 {
		fmt.Fprintf(&many, `"h%d":"x",`, n)
	}
	for text, field := range map[string]string{
		`{}`: "", ` {"a" : 1 , "b" : [ ] , "c" : {} } `: "", `[{"a":1},{"a":-2.5E+7}]`: "", `{"a":true,"b":[null,false,"}",[{}]]}`: "",
		`{"a":1,"b":2,"a":3}`:                 "a",
		`{"a":1,"\u0061":2}`:                  "a",
		`{"a":{"x":"\\","y":"\"","x":1}}`:     "x",
		`[1,{"a":1},{"b":2,"b":3}]`:           "b",
		`{"Content":"x"}`:                     "Content",
		`{"filter":{"Reason":"x"}}`:           "Reason",
		`{"headers":{"X-Id":"1","x-id":"2"}}`: "",
		`{"headers":{"X":"1","X":"2"}}`:       "X",
		`{"headers":{"X":"1"},"Headers":{}}`:  "Headers",
		`{"slot":1,"\u017flot":2}`:            "ſlot", `{"bizKey":"1","bizkey":"2"}`: "bizkey", `{"headers":{"ſ":"1","s":"2"}}`: "",
		`{"jobId":"1","bizKey":"2"}`:                  "",
		`{"headers":{` + many.String() + `"z":""}}`:   "",
		`{"headers":{` + many.String() + `"h99":""}}`: "h99",
	} {
		if !json.Valid([]byte(text)) {
			t.Fatal(text)
		}
		err := Keys([]byte(text))
		var wrong *FieldError
		if errors.As(err, &wrong) != (field != "") || wrong != nil && wrong.Field != field {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// Keys passes over all that the parser can read.
func FuzzKeys(f *testing.F) {
	for _, text := range []string{`{"a":[1,2e9,"\"",{"b":null}]}`, `{"headers":{"A":"\ud83d\ude00"}}`, ` [ ] `, `"a"`, `-0.5`, `{"a":1,"a":1}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		k := keys{rest: text}
		if k.value(false); k.wrong == nil && strings.TrimSpace(string(k.rest)) != "" {
			t.Errorf("%q is left of %q", k.rest, text)
		}
	})
}
