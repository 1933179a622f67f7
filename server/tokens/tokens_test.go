package tokens

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/must"
)

func TestWhoMayWhat(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	shop, err := Add(path, Holder{Name: "shop", Rights: []Right{Send, Look}, Topics: []string{"orders", "mails-*"}})
	must.Do(t, err)
	admin, err := Add(path, Holder{Name: "admin", Rights: []Right{Act}, Topics: []string{"*"}})
	must.Do(t, err)
	f, err := Open(path)
	must.Do(t, err)
	h := f.Find(shop)
	if h == nil || h.Name != "shop" || f.Find(admin).Name != "admin" {
		t.Fatal("the tokens are not found")
	}
	for _, c := range []struct {
		right Right
		topic string
		may   bool
	}{
		{Send, "orders", true}, {Look, "mails-12", true}, {Send, "mails-a/b", true}, {Send, "mails-", true},
		{Take, "orders", false}, {Act, "orders", false}, {Send, "orders2", false}, {Send, "my-orders", false}, {Send, "", false},
	} {
		if h.May(c.right, c.topic) != c.may {
			t.Errorf("%s %q: %v", c.right, c.topic, !c.may)
		}
	}
	for _, wrong := range []string{"", shop + "x", shop[:len(shop)-1], strings.ToUpper(shop), h.SHA256} {
		if f.Find(wrong) != nil {
			t.Errorf("%q is a token", wrong)
		}
	}
	if text, err := os.ReadFile(path); err != nil || strings.Contains(string(text), shop) || strings.Contains(string(text), admin) {
		t.Error("the file has a token")
	}
	if about, err := os.Stat(path); err != nil || about.Mode().Perm() != 0o600 {
		t.Error("others may read the file")
	}
}

func TestAddRefuses(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	good := Holder{Name: "shop", Rights: []Right{Send}, Topics: []string{"*"}}
	_, err := Add(path, good)
	must.Do(t, err)
	before, err := os.ReadFile(path)
	must.Do(t, err)
	for _, c := range []struct {
		change func(*Holder)
		says   string
	}{
		{func(*Holder) {}, "there is one of this name: give another name"},
		{func(h *Holder) { h.Name = "" }, "name is missing"},
		{func(h *Holder) { h.Name = "a\nb" }, "control characters"},
		{func(h *Holder) { h.Name, h.Rights = "x", nil }, "rights is empty"},
		{func(h *Holder) { h.Name, h.Rights = "x", []Right{"all"} }, `rights has "all"; it must be one of send, take, look, act`},
		{func(h *Holder) { h.Name, h.Topics = "x", nil }, "topics is empty"},
		{func(h *Holder) { h.Name, h.Topics = "x", []string{""} }, "topics has an empty name"},
	} {
		h := good
		c.change(&h)
		if _, err := Add(path, h); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%v, want %q", err, c.says)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Error("the file has changed")
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Error(left, err)
	}
}

// A file that is wrong is refused as a whole, and what was read before stays.
func TestReread(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "tokens.json")
	token, err := Add(path, Holder{Name: "shop", Rights: []Right{Send}, Topics: []string{"*"}})
	must.Do(t, err)
	f, err := Open(path)
	must.Do(t, err)
	hash := f.Find(token).SHA256
	for text, says := range map[string]string{
		"": `it is not as {"tokens"`,
		fmt.Sprintf(`{"tokens":[{"name":"a","sha256":"%s","rights":["send"],"topics":["*"]},{"name":"a","sha256":"%s","rights":["send"],"topics":["*"]}]}`, hash, strings.Repeat("0", 64)): `token "a": there are two of this name`,
		"[]":                `it is not as {"tokens"`,
		`{"tokens":[]}`:     "it has no tokens, so no one may do anything",
		`{"tokens":[null]}`: "token 1: name is missing",
		`{"tokens":[{"name":"a","sha256":"00","rights":["send"],"topics":["*"]}]}`:                                                                                      `token "a": sha256 is not 64 hexadecimal digits`,
		`{"tokens":[{"name":"a","secret":"00"}]}`:                                                                                                                       `unknown field "secret"`,
		fmt.Sprintf(`{"tokens":[{"name":"a","sha256":"%s","rights":["send"],"topics":["*"]}]} x`, hash):                                                                 "something behind",
		fmt.Sprintf(`{"tokens":[{"name":"a","sha256":"%[1]s","rights":["send"],"topics":["*"]},{"name":"b","sha256":"%[1]s","rights":["send"],"topics":["*"]}]}`, hash): `it is the same token as "a"`,
	} {
		must.Do(t, os.WriteFile(path, []byte(text), 0o600))
		if err := f.Reread(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", text, err, says)
		}
		if _, err := Open(path); err == nil {
			t.Errorf("%s is a file of tokens", text)
		}
		if f.Find(token) == nil {
			t.Fatal("the token does not count any more")
		}
	}
	must.Do(t, os.Remove(path))
	if err := f.Reread(); err == nil {
		t.Error("no file is fine")
	}
	other, err := Add(path, Holder{Name: "other", Rights: []Right{Send}, Topics: []string{"*"}})
	must.Do(t, err)
	must.Do(t, f.Reread())
	if f.Find(token) != nil || f.Find(other) == nil {
		t.Error("the file was not read again")
	}
}

func FuzzFile(f *testing.F) {
	f.Add([]byte(`{"tokens":[{"name":"a","sha256":"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08","rights":["send"],"topics":["*"]}]}`), "test")
	f.Add([]byte(`{"tokens":[null]}`), "")
	f.Fuzz(func(t *testing.T, text []byte, token string) {
		holders, err := parse(text)
		if err != nil {
			return
		}
		file := &File{}
		file.holders.Store(&holders)
		if h := file.Find(token); h != nil {
			h.May(Send, token)
		}
	})
}
