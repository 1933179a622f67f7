package protocol_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/protocol"
	"github.com/slotmq/go-rmq/internal/protocol/limits"
	"github.com/slotmq/go-rmq/internal/testing/promises"
)

// What stands in a script is compared here with its document. That the script goes by it, the driver and the damages prove.
func TestPromises(t *testing.T) {
	t.Parallel()
	var r protocol.Running
	r.NoteContents([]string{strings.Repeat("x", 1000)})
	shown := len(r.Content)
	r.NoteContents(make([]string, 256))

	document := promises.Of(t, "docs/PROTOCOL.md")
	document.Says("the last 100 that did not leave the list themselves", 100, numberIn(t, "members", `'ZREMRANGEBYRANK', gone, 0, -(\d+)`)-1)
	document.Says("The key expires a day after the last one", 24*time.Hour, time.Duration(numberIn(t, "members", `'PEXPIRE', gone, (\d+)`))*time.Millisecond)
	document.Says("and it counts for 90 s since then", 90*time.Second, time.Duration(numberIn(t, "define", `local TOLD = (\d+)`))*time.Millisecond)
	document.Says("the SHA-1 of the first 16 in hex", 16, len(r.Hashes))
	document.Says("and the first 200 bytes of the first one", 200, shown)
	document.Says("how many messages it wants (256 at most;", 256, protocol.MaxBatch)
	document.Says("as many messages as the worker asked for, 256 at most,", 256, numberIn(t, "turn", `count = [^\n]*math\.min\(tonumber\(ARGV\[6\]\), (\d+)\)`))
	document.Says("no more than 1 MiB of contents, or one message alone", 1<<20, numberIn(t, "turn", `MOST, call = [\d ,^]*, (\d+), redis`))
	document.Says("no batch holds more than 1 MiB, or one message", 1<<20, limits.BatchBytes)
	document.Says("reads contents in pieces of up to 64,", 64, numberIn(t, "turn", `math\.max\(1, math\.min\((\d+), at`))
	document.Says("looks through the first 256 that are due", 256, numberIn(t, "turn", `'WITHSCORES', 'LIMIT', 0, (\d+)\)`))
	passed := numberIn(t, "turn", `PASS, [^\n]* = 16, 18, (\d+),`)
	document.Says("and when 7 or more have passed it", 7, passed)
	document.Says("**In a busy priority slot one delivery of eight is a retry**", 8, passed+1)
	document.Says("waits for 262 first deliveries at most", 262, passed-1+protocol.MaxBatch)
	document.Says("a piece of all notes of a slot, about 100,", 100, numberIn(t, "forget", `#names >= (\d+)`))
	document.Says("about a minute where there are few", time.Minute, sweptWithin(t, 1))
	document.Says("11 minutes where there are 1,000", 11*time.Minute, sweptWithin(t, 1000))
	document.Says("Each call looks at four entries,", 4, numberIn(t, "send", `entries, piece = [^\n]*, (\d+) \+ 2`))
	document.Says("looks at the entries that ended first, ten and one for each", 10, numberIn(t, "send", `(\d+) \+ #contents`))
	document.Says("at most 256 first deliveries of one moment", 256, protocol.MaxBatch)
}

// numberIn is a number in the code of a script, at the one place that fits.
func numberIn(t *testing.T, script, pattern string) int {
	t.Helper()
	_, code := parts(sources[script])
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(code, -1)
	if len(found) != 1 {
		t.Errorf("%s.lua has %q %d times", script, pattern, len(found))
		return 0
	}
	n, _ := strconv.Atoi(found[0][1]) // digits only
	return n
}

// sweptWithin is how long a note may be left over while so many wait: two rounds, of a look for each piece and one more.
func sweptWithin(t *testing.T, notes int) time.Duration {
	const look = 30 * time.Second
	piece := numberIn(t, "forget", `#names >= (\d+)`)
	return 2 * time.Duration(notes/piece+1) * look
}
