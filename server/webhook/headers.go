package webhook

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slotmq/go-rmq/rmq"
)

// longestError bounds what a receiver gets about the last failure.
const longestError = 200

// freshID is the webhook-id of a wait that begins with a batch. Messages that were taken together have one fence, so their
// contents tell them apart. The standard wants no point in it.
func freshID(topic string, slot int, fence int64, content string) string {
	sum := sha256.Sum256([]byte(content))
	return printable(topic, ". ") + "_" + strconv.Itoa(slot) + "_" + strconv.FormatInt(fence, 10) + "_" + hex.EncodeToString(sum[:6])
}

// headers of the request for a delivery. Those of the message are set first, and under names that are
// none of ours.
func (l *listener) headers(d *rmq.Delivery, id string, now time.Time) http.Header {
	h := http.Header{"User-Agent": {"rmq-webhook"}}
	for name, value := range l.Headers {
		h.Set(name, value)
	}
	of := d.Headers()
	for _, name := range slices.Sorted(maps.Keys(of)) {
		setOfMessage(h, name, of[name])
	}
	h.Set("Content-Type", l.ContentType)
	h.Set("Rmq-Topic", printable(d.Topic.Name, ""))
	h.Set("Rmq-Slot", strconv.Itoa(d.Slot))
	h.Set("Rmq-Attempt", strconv.Itoa(d.Attempt))
	h.Set("Rmq-Fence", strconv.FormatInt(d.Fence, 10))
	if d.LastError != "" {
		h.Set("Rmq-Last-Error", printable(shorten(d.LastError, longestError), ""))
	}
	h.Set("Webhook-Id", id)
	h.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	h.Set("Webhook-Signature", l.keys.Load().sign(id, now, d.Content))
	return h
}

var traceparent = regexp.MustCompile(`^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$`)

// setOfMessage sets a header that the sender of the message has given it. Two whose names differ
// only in upper and lower case are two values.
func setOfMessage(h http.Header, name, value string) {
	if name == "traceparent" && traceparent.MatchString(value) || name == "tracestate" && fieldValue(value) {
		h.Set(name, value)
		return
	}
	var b strings.Builder
	for i := range len(name) {
		if c := name[i]; c == '%' || !tokenByte(c) {
			b.WriteString("%" + strings.ToUpper(hex.EncodeToString([]byte{c})))
		} else {
			b.WriteByte(c)
		}
	}
	h.Add("Rmq-Header-"+b.String(), printable(value, ""))
}
