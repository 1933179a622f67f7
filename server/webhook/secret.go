package webhook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Prefix and size of secrets, as Standard Webhooks has them.
const (
	secretPrefix = "whsec_"
	leastSecret  = 24 // bytes
	mostSecret   = 64
)

// keys are the keys that sign, in the order of the secrets.
type keys [][]byte

// keysOf reads secrets. Its errors do not show them.
func keysOf(secrets []string) (keys, error) {
	if len(secrets) == 0 {
		return nil, refuse("Secrets", "empty", `at least one, such as "whsec_" and the output of: openssl rand -base64 32`)
	}
	all := make(keys, len(secrets))
	for i, s := range secrets {
		rest, is := strings.CutPrefix(s, secretPrefix)
		key, err := base64.StdEncoding.DecodeString(rest)
		if !is || err != nil || len(key) < leastSecret || len(key) > mostSecret {
			return nil, refuse(fmt.Sprintf("Secrets[%d]", i), "no secret (not shown)",
				`"whsec_" and 24 to 64 random bytes in base64, such as the output of: openssl rand -base64 32`)
		}
		all[i] = key
	}
	return all, nil
}

// sign is the value of webhook-signature: a signature by each key.
func (k keys) sign(id string, at time.Time, body string) string {
	all := make([]string, len(k))
	for i, key := range k {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + strconv.FormatInt(at.Unix(), 10) + "."))
		mac.Write([]byte(body))
		all[i] = "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	return strings.Join(all, " ")
}
