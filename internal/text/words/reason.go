package words

import (
	"regexp"
	"strings"
)

// variable is what differs in errors of one kind: ids and numbers.
var variable = regexp.MustCompile(`[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}|[0-9]+`)

// longestReason is how much of an error is compared.
const longestReason = 300

// Reason is what stands for an error where errors are grouped: its first line, with # for each number.
func Reason(failure string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(failure), "\n")
	line = strings.TrimSpace(line[:min(len(line), longestReason)])
	return variable.ReplaceAllString(strings.ToValidUTF8(line, ""), "#")
}
