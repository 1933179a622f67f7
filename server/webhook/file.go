package webhook

import (
	"bytes"
	"cmp"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/internal/text/humantime"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
)

// file is what a configuration file says. Names of files are relative to its folder.
type file struct {
	Targets []fileTarget `json:"targets"`
}

type fileTarget struct {
	Topic        string            `json:"topic"`
	URL          string            `json:"url"`
	Secrets      []string          `json:"secrets"`
	SecretFiles  []string          `json:"secret_files"`
	Timeout      duration          `json:"timeout"`
	Concurrency  int               `json:"concurrency"`
	ContentType  string            `json:"content_type"`
	Headers      map[string]string `json:"headers"`
	AllowHTTP    bool              `json:"allow_http"`
	AllowPrivate bool              `json:"allow_private"`
	Allow        []string          `json:"allow"`
	CAFile       string            `json:"ca_file"`
	Proxy        string            `json:"proxy"`
}

// inFile is what the fields of a Target are called in a file.
var inFile = map[string]string{
	"Topic.Name": "topic", "URL": "url", "Secrets": "secrets", "Timeout": "timeout", "Concurrency": "concurrency", "ContentType": "content_type",
	"Headers": "headers", "Proxy": "proxy",
}

// Load reads targets from a file of JSON, as docs/WEBHOOKS.md describes it. Of their topics it knows
// no more than the names. Its errors name the field, and show no secrets.
func Load(name string) ([]Target, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var f file
	if err := parse(text, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(f.Targets) == 0 {
		return nil, fmt.Errorf("%s: targets is empty: list at least one", name)
	}
	all, of := make([]Target, len(f.Targets)), map[string]int{}
	for i, ft := range f.Targets {
		at := fmt.Sprintf("targets[%d].", i)
		if all[i], err = ft.target(filepath.Dir(name)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, inField(err, func(field string) string { return at + called(field) }))
		}
		if before, twice := of[ft.Topic]; twice {
			return nil, fmt.Errorf("%s: %stopic is %q, as in targets[%d]: a topic has one target", name, at, ft.Topic, before)
		}
		of[ft.Topic] = i
	}
	return all, nil
}

// called is the name of a field in a file, with what of it is meant.
func called(field string) string {
	if name, is := inFile[field]; is {
		return name
	}
	end := strings.IndexAny(field+".", ".[")
	return cmp.Or(inFile[field[:end]], field[:end]) + field[end:]
}

// parse reads one JSON object that has no fields but those known.
func parse(text []byte, f *file) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	err := d.Decode(f)
	if err == nil {
		if _, more := d.Token(); !errors.Is(more, io.EOF) {
			err = errors.New("there is more behind the object")
		}
	}
	if err == nil {
		return nil
	}
	at := d.InputOffset()
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	if errors.As(err, &syntax) {
		at = syntax.Offset
	} else if errors.As(err, &kind) {
		at = kind.Offset
		err = fmt.Errorf("%s must be %s", cmp.Or(kind.Field, "the file"), jsonName(kind.Type.Kind().String()))
	} else if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		at, err = int64(len(text)), errors.New("it ends too early")
	}
	return fmt.Errorf("line %d: %s", 1+bytes.Count(text[:min(int(at), len(text))], []byte("\n")), strings.TrimPrefix(err.Error(), "json: "))
}

// jsonName is what JSON calls a kind of Go's types.
func jsonName(kind string) string {
	switch kind {
	case "struct", "map":
		return "an object"
	case "slice":
		return "an array"
	case "int":
		return "a whole number"
	case "bool":
		return "true or false"
	}
	return "a text"
}

// target reads what an entry names, and checks it. Files are in a folder.
func (ft fileTarget) target(dir string) (t Target, err error) {
	t = Target{
		Topic: rmq.Topic{Name: ft.Topic}, URL: ft.URL, Secrets: slices.Clone(ft.Secrets), Timeout: time.Duration(ft.Timeout), Concurrency: ft.Concurrency,
		ContentType: ft.ContentType, Headers: ft.Headers, AllowHTTP: ft.AllowHTTP, AllowPrivate: ft.AllowPrivate, Proxy: ft.Proxy,
	}
	for i, cidr := range ft.Allow {
		p, err := netip.ParsePrefix(cidr)
		if err != nil {
			return t, refuse(fmt.Sprintf("allow[%d]", i), fmt.Sprintf("%.60q", cidr), "addresses such as 10.1.0.0/16 or fd00::/8")
		}
		t.Allow = append(t.Allow, p)
	}
	for i, name := range ft.SecretFiles {
		more, err := ReadSecrets(within(dir, name))
		if err != nil {
			return t, fmt.Errorf("secret_files[%d] of topic %s: %w", i, ft.Topic, err)
		}
		t.Secrets = append(t.Secrets, more...)
	}
	if ft.CAFile != "" {
		if t.Roots, err = ReadRoots(within(dir, ft.CAFile)); err != nil {
			return t, fmt.Errorf("ca_file of topic %s: %w", ft.Topic, err)
		}
	}
	return t, t.Check()
}

// within is a name of a file relative to a folder.
func within(dir, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(dir, name)
}

// ReadSecrets reads the secrets in a file: one in each line that is not empty and does not begin with #.
// Its errors do not show them.
func ReadSecrets(name string) (secrets []string, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	line := 0
	for s := range strings.Lines(string(text)) {
		line++
		if s = strings.TrimSpace(s); s == "" || strings.HasPrefix(s, "#") {
			continue
		}
		if _, err := keysOf([]string{s}); err != nil {
			return nil, inField(err, func(string) string { return fmt.Sprintf("line %d of %s", line, name) })
		}
		secrets = append(secrets, s)
	}
	if len(secrets) == 0 {
		return nil, &message.InvalidError{Field: name, Value: "without a secret", Limit: "one or more lines, each a secret"}
	}
	return secrets, nil
}

// ReadRoots reads certificates in PEM, for Target.Roots.
func ReadRoots(name string) (*x509.CertPool, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, &message.InvalidError{Field: name, Value: "without a certificate", Limit: "certificates in PEM"}
	}
	return pool, nil
}

// duration is written as in flags: "30s".
type duration time.Duration

func (d *duration) UnmarshalJSON(text []byte) error {
	var s string
	err := json.Unmarshal(text, &s)
	if err == nil {
		var x time.Duration
		if x, err = humantime.ParseSpan(s); err == nil {
			*d = duration(x)
			return nil
		}
	}
	return fmt.Errorf(`timeout is %.60s; it must be a text such as "30s"`, text)
}
