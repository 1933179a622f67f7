package gatewaytest

import (
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/promises"
)

func TestPromises(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"rmq.py", "rmq.mjs"} {
		code, err := os.ReadFile("../../examples/http/" + name)
		if err != nil {
			t.Fatal(err)
		}
		found := regexp.MustCompile(`patience ?= ?(\d+)`).FindSubmatch(code)
		if found == nil {
			t.Fatalf("%s has no patience", name)
		}
		seconds, _ := strconv.Atoi(string(found[1])) // digits only
		promises.Of(t, "docs/HTTP.md").Says("They repeat what found no gateway for two minutes,", 2*time.Minute, time.Duration(seconds)*time.Second)
	}
}
