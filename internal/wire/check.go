package wire

import (
	"strings"

	"github.com/slotmq/go-rmq/inspector"
	"github.com/slotmq/go-rmq/internal/words"
)

// Check is one thing that the doctor looked at, and what it found.
type Check struct {
	Check   string `json:"check"`
	Level   string `json:"level"`
	Detail  string `json:"detail"`
	Advice  string `json:"advice,omitempty"`
	Command string `json:"command,omitempty"`
}

// CheckOf is such a finding.
func CheckOf(c inspector.Check) Check {
	return Check{c.Name, string(c.Level), words.OneLine(strings.ToValidUTF8(c.Detail, "\ufffd")), words.OneLine(strings.ToValidUTF8(c.Advice, "\ufffd")), c.Command}
}
