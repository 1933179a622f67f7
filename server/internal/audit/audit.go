// Package audit writes what people do into the log: who, from where, what, which, how many.
package audit

import (
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/inspector"
)

// Action is what someone has changed or exported, or tried to.
type Action struct {
	By     string
	What   string
	Topic  string   // empty: no topic's
	Count  int      // of messages, slots or plans that it changed
	Which  string   // the message or the plan; empty: it was not about one
	Filter []string // what chose the messages, in words
	With   string   // a rate, a time, a priority
	Result string   // if the number does not say it
}

// longest bounds what a request says of itself.
const longest = 200

// Log writes a line. An action that failed has its error.
func (d Action) Log(log *zap.Logger, r *http.Request, err error) {
	from, _, _ := net.SplitHostPort(r.RemoteAddr)
	fields := []zap.Field{zap.String("by", d.By), zap.String("from", from), zap.String("what", d.What)}
	add := func(name, text string) {
		if text != "" {
			fields = append(fields, zap.String(name, text))
		}
	}
	forwarded := strings.Join(r.Header.Values("X-Forwarded-For"), ", ") // your proxy wrote the end of it; the rest is what it received
	add("forwarded_for", strings.ToValidUTF8(forwarded[max(0, len(forwarded)-longest):], ""))
	if add("topic", d.Topic); d.Topic != "" {
		fields = append(fields, zap.Int("count", d.Count))
	}
	add("which", d.Which)
	add("filter", strings.Join(d.Filter, ", "))
	add("with", d.With)
	add("result", d.Result)
	if err != nil {
		log.Warn("console", append(fields, zap.Error(err))...)
		return
	}
	log.Info("console", fields...)
}

// Number is 1 for one that was changed.
func Number(changed bool) int {
	if changed {
		return 1
	}
	return 0
}

// Slots are slots in words.
func Slots(slots []int) string {
	if slots == nil {
		return "all slots"
	}
	return "slots " + strings.Trim(fmt.Sprint(slots), "[]")
}

// Move is a new time or priority in words.
func Move(to inspector.Move) string {
	switch {
	case to.Priority != 0:
		return "priority " + strconv.FormatInt(to.Priority, 10)
	case to.In != 0:
		return "in " + to.In.String()
	}
	return "now"
}
