package audit

import (
	"fmt"
	"strconv"

	"github.com/slotmq/go-rmq/internal/protocol/limits"
)

// policyOdd says what is wrong with the stored rate, concurrency and until of a limit, or
// nothing. A worker reads what cannot be a limit as none.
func policyOdd(values []any) string {
	text := func(n int) string { s, _ := values[n].(string); return s }
	rate, concurrency, until := text(0), text(1), text(2)
	if rate+concurrency+until == "" { // there is none
		return ""
	}
	if r, err := strconv.ParseFloat(rate, 64); rate != "" && (err != nil || !limits.Rate(r)) {
		return fmt.Sprintf("has rate %.40q", rate)
	}
	if n, err := strconv.Atoi(concurrency); concurrency != "" && (err != nil || n < 1) {
		return fmt.Sprintf("has concurrency %.40q", concurrency)
	}
	if _, err := strconv.ParseInt(until, 10, 64); err != nil {
		return fmt.Sprintf("has until %.40q", until)
	}
	return ""
}
