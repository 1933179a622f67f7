package tokens

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Add makes a token for a holder, adds its hash to a file, and returns it: the file does not have it. The file
// is made if it is not there.
func Add(path string, h Holder) (token string, err error) {
	if token, err = add(path, h); err != nil {
		return "", fmt.Errorf("add a token to %s: %w", path, err)
	}
	return token, nil
}

func add(path string, h Holder) (string, error) {
	var holders []*Holder
	text, err := os.ReadFile(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return "", err
	default:
		if holders, err = parse(text); err != nil {
			return "", err
		}
	}
	if slices.ContainsFunc(holders, func(other *Holder) bool { return other.Name == h.Name }) {
		return "", fmt.Errorf("token %q: there is one of this name: give another name, or take its entry out of the file", h.Name)
	}
	var token string
	token, h.SHA256 = fresh()
	holders = append(holders, &h)
	var out bytes.Buffer
	e := json.NewEncoder(&out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(content{holders}); err != nil {
		return "", err
	}
	if _, err := parse(out.Bytes()); err != nil { // what is wrong in the new one
		return "", err
	}
	return token, replace(path, out.Bytes())
}

// fresh is a new token, and its hash as the file has it.
func fresh() (token, hash string) {
	var b [24]byte
	_, _ = rand.Read(b[:]) // it cannot fail
	token = "rmq_" + base64.RawURLEncoding.EncodeToString(b[:])
	sum := sha256.Sum256([]byte(token))
	return token, hex.EncodeToString(sum[:])
}

// replace writes a file as a whole, or not at all. Only its owner may read it, unless it was so before.
func replace(path string, text []byte) error {
	mode := fs.FileMode(0o600)
	if about, err := os.Stat(path); err == nil {
		mode = about.Mode().Perm()
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	err = errors.Join(err, f.Chmod(mode), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name()) // it is not needed
	}
	return err
}
