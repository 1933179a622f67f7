package checked

import (
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	protocol := promises.Of(t, "docs/PROTOCOL.md")
	protocol.Says("Times before the year 2000 and after", 2000, firstYear())
	protocol.Says("and after 9999 are always refused", 9999, lastYear())
}

func firstYear() int {
	for year := 1; ; year++ {
		if checkAt(time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC)) == nil {
			return year
		}
	}
}

func lastYear() int {
	for year := 20_000; ; year-- {
		if checkAt(time.Date(year, 12, 31, 23, 59, 59, 0, time.UTC)) == nil {
			return year
		}
	}
}
