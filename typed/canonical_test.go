package typed

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"testing/quick"
	"time"
	"unicode/utf8"
)

// The forms that RFC 8785 asks for. The numbers are those of its appendix B, and the object
// is that of its section 3.2.
func TestCanonicalForm(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`: `{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew","1":"One","\ud83d\ude00":"Emoji","\u0080":"Control","\u00f6":"Latin"}`:                                "{\"\\r\":\"Carriage Return\",\"1\":\"One\",\"\u0080\":\"Control\",\"ö\":\"Latin\",\"€\":\"Euro Sign\",\"😀\":\"Emoji\",\"\ufb33\":\"Hebrew\"}",
		`[-0,-0.0,0.0,1.0,1e0,100e-2,1e21,1e20,123456789012345678901234,9007199254740993]`:                                                                                    `[0,0,0,1,1,1,1e+21,100000000000000000000,123456789012345678901234,9007199254740993]`,
		`[5e-324,1.7976931348623157e308,1e-7,0.000001,1.5e-10,"\b\t\n\f\r\u001f\u007f\u2028<>&"]`:                                                                             `[5e-324,1.7976931348623157e+308,1e-7,0.000001,1.5e-10,"\b\t\n\f\r\u001f` + "\u007f\u2028<>&\"]",
		` [ ] `:        `[]`,
		`{"a" : { } }`: `{"a":{}}`,
	} {
		got, err := canonical(text)
		if err != nil || got != want {
			t.Errorf("%s\nis   %s (%v)\nwant %s", text, got, err, want)
		}
		if again, err := canonical(got); err != nil || again != got {
			t.Errorf("%s is %s the second time (%v)", got, again, err)
		}
	}
	if _, err := canonical(`[1e999]`); err == nil || !strings.Contains(err.Error(), "1e999") {
		t.Errorf("1e999: %v", err)
	}
}

// order and turned are the same, with their fields in another order.
type order struct {
	ID    int64              `json:"id"`
	Lines []line             `json:"lines,omitempty"`
	Notes map[string]float64 `json:"notes,omitempty"`
	By    *string            `json:"by,omitempty"`
	Paid  bool               `json:"paid"`
}

type line struct {
	Name  string  `json:"name"`
	Price float32 `json:"price"`
}

type turned struct {
	Paid  bool               `json:"paid"`
	By    *string            `json:"by,omitempty"`
	Notes map[string]float64 `json:"notes,omitempty"`
	Lines []struct {
		Price float32 `json:"price"`
		Name  string  `json:"name"`
	} `json:"lines,omitempty"`
	ID int64 `json:"id"`
}

// Equal values have equal contents, whatever their maps and the order of their fields are
// like; a content gives the same value back; and different values have different contents.
func TestEqualValuesHaveEqualContents(t *testing.T) {
	t.Parallel()
	seed := time.Now().UnixNano()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(uint64(seed), 0))
	codec, other := JSON[order](), JSON[turned]()
	contents := map[string]order{}
	again := func(v order) order { // another value that is equal
		v.Lines = append([]line(nil), v.Lines...)
		notes := make(map[string]float64, random.IntN(100))
		for k, n := range v.Notes {
			notes[k] = n
		}
		if v.Notes != nil {
			v.Notes = notes
		}
		return v
	}
	check := func(v order) bool {
		for i := range v.Lines {
			v.Lines[i].Name = sendable(v.Lines[i].Name)
		}
		for k, n := range v.Notes {
			delete(v.Notes, k)
			v.Notes[sendable(k)] = n
		}
		if v.By != nil {
			by := sendable(*v.By)
			v.By = &by
		}
		content, err := codec.Encode(v)
		if err != nil {
			t.Log(err)
			return false
		}
		second, _ := codec.Encode(again(v))
		back, err := codec.Decode(content)
		if err != nil || second != content {
			t.Log(content, second, err)
			return false
		}
		third, _ := codec.Encode(back)
		same, err := other.Decode(content)
		if err != nil {
			t.Log(err)
			return false
		}
		fourth, _ := other.Encode(same)
		if before, ok := contents[content]; ok && !reflect.DeepEqual(before, back) {
			t.Log("two values have the content", content)
			return false
		}
		contents[content] = back
		return third == content && fourth == content && json.Valid([]byte(content)) && utf8.ValidString(content)
	}
	if err := quick.Check(check, &quick.Config{MaxCount: 2000}); err != nil {
		t.Error(err)
	}
}

// sendable is a text without what is refused with GOEXPERIMENT=jsonv2.
func sendable(text string) string {
	if writesReplacement {
		return strings.ReplaceAll(text, replacement, "?")
	}
	return text
}

// What JSON cannot hold is refused, and not changed into something that merges with
// another value.
func TestJSONRefuses(t *testing.T) {
	t.Parallel()
	for _, bad := range []any{"\xff", map[string]int{"a\xc0": 1}, []string{`\`, "\xed\xa0\x80"}, math.NaN(), math.Inf(1), func() {}} {
		if content, err := JSON[any]().Encode(bad); err == nil {
			t.Errorf("%#v has the content %s", bad, content)
		}
	}
	for _, good := range []string{`\ufffd`, sendable("\ufffd"), `\\ufffd\`, `"a" \ufffd`, `"a\`, `"`, "\\", ""} {
		content, err := JSON[string]().Encode(good)
		if err != nil {
			t.Errorf("%q: %v", good, err)
		}
		if back, err := JSON[string]().Decode(content); err != nil || back != good {
			t.Errorf("%q came back as %q (%v)", good, back, err)
		}
	}
	for _, bad := range []string{"", "{", "1 2", `"x" y`, "null null"} {
		if v, err := JSON[any]().Decode(bad); err == nil {
			t.Errorf("%q is read as %v", bad, v)
		}
	}
}
