package typed

import (
	"encoding/json"
	"strings"
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

// both is written as its text where it is the name of a member.
type both string

func (both) MarshalJSON() ([]byte, error)   { return []byte(`"fine"`), nil }
func (b both) MarshalText() ([]byte, error) { return []byte(b), nil }

// empty writes itself even where it is nil.
type empty []string

func (empty) MarshalJSON() ([]byte, error) { return json.Marshal("a\xff") }

// Parent and child lead to each other, by a field that the encoder does not see.
type Parent struct{ Children []*child }

type child struct {
	*Parent
	Name     string
	Children []string
}

type First struct{ X string }

func (First) MarshalJSON() ([]byte, error) { return []byte("1"), nil }

type Second struct{ Y string }

func (Second) MarshalJSON() ([]byte, error) { return []byte("2"), nil }

// two has two methods MarshalJSON, so it has none.
type two struct {
	First
	Second
}

// What is not Unicode is refused wherever it is, and so are two members of one name: they would
// merge with other values. What the encoder does not write does not matter.
func TestJSONRefusesWhatWouldMerge(t *testing.T) {
	t.Parallel()
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	family := func(name string) *child {
		c := &child{&Parent{}, name, nil}
		c.Parent.Children = []*child{c}
		return c
	}
	for _, bad := range []any{
		raw("\"a\xff\""), raw(`"a\ud800"`), raw(`"a\uDC00x"`), raw(`"\ud83dA\ude00"`), raw(`{"\udead":1}`),
		raw(`{"a":1,"b":[{"c":"x:y","c":2}]}`), raw(`{"a":"` + replacement + `","a":"\ufffd"}`),
		raw(`"\ufffd"`), raw(`"\uFFFD"`), raw(`"\\\ufffd"`), raw(`{"` + replacement + `\ufffd":1}`),
		spelled("\"a\xff\""), spelled(`"a\ud800"`), spelled(`"a\ufffd"`), spelled(`{"a":1,"\u0061":1}`),
		&named{"a\xff"}, []named{{"a\xff"}}, loud("\xff"), []loud{"\xff"}, map[loud]int{"\xff": 1},
		quoted{"a\xff"}, quoted{"\xed\xa0\x80"}, quoted{"\\\xff"}, `"\ufffd"`,
		map[both]int{"\xff": 1}, empty(nil), family("\xff"), two{First{"\xff"}, Second{"b"}},
	} {
		if content, err := JSON[any]().Encode(bad); err == nil {
			t.Errorf("%#v has the content %s", bad, content)
		}
	}
	for want, good := range map[string]any{
		"\"a\ufffd\"":                        raw("\"a\ufffd\""),
		"\"c\ufffd\"":                        spelled("\"c\ufffd\""),
		"\"d\ufffd\"":                        &named{"d\ufffd"},
		"\"e\ufffd!\"":                       loud("e\ufffd"),
		"{\"f\ufffd\":1}":                    map[loud]int{"f\ufffd": 1},
		"{\"Text\":\"\\\"g\ufffd\\\"\"}":     quoted{"g\ufffd"},
		`"😀"`:                                raw(`"\ud83d\ude00"`),
		`"\\ud800"`:                          raw(`"\\ud800"`),
		`"\\ufffd"`:                          `\ufffd`,
		`["\\ufffd"]`:                        []spelled{`"\\ufffd"`},
		`{"a:":{"b":":","c\":":"\\\":"}}`:    raw(`{"a:":{"b":":","c\":":"\\\":"}}`),
		`{"Text":"\"\\\\ufffd\""}`:           quoted{`\ufffd`},
		`{"Children":null,"Name":"\\ufffd"}`: family(`\ufffd`),
		`{"X":"a","Y":"b"}`:                  two{First{"a"}, Second{"b"}},
		`{"Bits":"//4=","Seen":""}`: struct {
			Bits []byte
			Not  string `json:"-"`
			Seen string
		}{Bits: []byte{0xff, 0xfe}, Not: "\xff"},
	} {
		content, err := JSON[any]().Encode(good)
		if strings.Contains(want, replacement) && writesReplacement {
			want = ""
		}
		if content != want || (err == nil) != (want != "") {
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
