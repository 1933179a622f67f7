package typed

import (
	"encoding/json"
	"testing"
)

// spelled is what a type of the user's writes itself.
type spelled string

func (s spelled) MarshalJSON() ([]byte, error) { return []byte(s), nil }

// named is written by package encoding/json, in a method of the user's.
type named struct{ Name string }

func (n *named) MarshalJSON() ([]byte, error) { return json.Marshal(n.Name) }

// loud is another text in JSON than it is as the name of a member.
type loud string

func (l loud) MarshalText() ([]byte, error) { return []byte(l + "!"), nil }

type quoted struct {
	Text string `json:",string"`
}

type Inner struct{ Text string }

type outer struct {
	Inner
	Not  string `json:"-"`
	Raw  json.RawMessage
	Bits []byte
	More any
}

// What is not Unicode is refused wherever it is, and so are two members of one name: they would
// merge with other values. The escape of a json.RawMessage means what it says.
func TestJSONRefusesWhatWouldMerge(t *testing.T) {
	t.Parallel()
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	fffd := raw(`"a\ufffd"`)
	for _, bad := range []any{
		raw("\"a\xff\""), raw(`"a\ud800"`), raw(`"a\uDC00x"`), raw(`"\ud83dA\ude00"`), raw(`{"\udead":1}`), raw(`{"a":1,"b":[{"c":"x:y","c":2}]}`),
		spelled("\"a\xff\""), spelled(`"a\ud800"`), spelled(`"a\ufffd"`), spelled(`{"a":1,"\u0061":1}`),
		&named{"a\xff"}, []named{{"a\xff"}}, loud("\xff"), []loud{"\xff"}, map[loud]int{"\xff": 1}, quoted{"a\xff"}, &quoted{"\xed\xa0\x80"},
		[]any{fffd, "a\xff"}, map[string]any{"a": fffd, "b\xff": 1}, map[string]any{"a": fffd, "b": &named{"\xff"}},
		outer{Raw: fffd, Inner: Inner{"\xff"}}, outer{Raw: fffd, More: [1]any{"\xff"}}, &outer{Raw: fffd, More: raw("\"\xff\"")},
	} {
		if content, err := JSON[any]().Encode(bad); err == nil {
			t.Errorf("%#v has the content %s", bad, content)
		}
	}
	for want, good := range map[string]any{
		"\"a\ufffd\"":                     fffd,
		"\"b\ufffd\"":                     raw(`"b\uFFFD"`),
		"\"c\ufffd\"":                     spelled("\"c\ufffd\""),
		"\"d\ufffd\"":                     &named{"d\ufffd"},
		"\"e\ufffd!\"":                    loud("e\ufffd"),
		"{\"f\ufffd\":1}":                 map[loud]int{"f\ufffd": 1},
		`"😀"`:                             raw(`"\ud83d\ude00"`),
		`"\\ud800"`:                       raw(`"\\ud800"`),
		`"\\ufffd"`:                       `\ufffd`,
		`["\\ufffd"]`:                     []spelled{`"\\ufffd"`},
		`{"a:":{"b":":","c\":":"\\\":"}}`: raw(`{"a:":{"b":":","c\":":"\\\":"}}`),
		`{"Text":"\"\\\\ufffd\""}`:        quoted{`\ufffd`},
		"{\"Bits\":\"//4=\",\"More\":null,\"Raw\":\"a\ufffd\",\"Text\":\"\"}": &outer{Raw: fffd, Bits: []byte{0xff, 0xfe}, Not: "\xff"},
		"[null,null,null,\"a\ufffd\"]":                                        []any{(*named)(nil), map[string]int(nil), json.RawMessage(nil), &fffd},
	} {
		if content, err := JSON[any]().Encode(good); err != nil || content != want {
			t.Errorf("%#v has the content %s (%v), not %s", good, content, err, want)
		}
	}
}

// Whole numbers come back as they were sent, and are the same content again, unless they come
// back in an any.
func TestWholeNumbersComeBack(t *testing.T) {
	t.Parallel()
	const most = 18446744073709551615
	comesBack(t, map[string]uint64{"n": most}, true)
	comesBack(t, map[string]json.Number{"n": "18446744073709551615"}, true)
	comesBack(t, map[string]any{"n": float64(1 << 53)}, true)
	comesBack(t, map[string]any{"n": uint64(most)}, false)
}

func comesBack[T any](t *testing.T, v T, want bool) {
	t.Helper()
	sent, err := JSON[T]().Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	back, err := JSON[T]().Decode(sent)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := JSON[T]().Encode(back); err != nil || (again == sent) != want {
		t.Errorf("%T: %s is %s the second time (%v)", v, sent, again, err)
	}
}
