package main

import (
	"testing"
)

// What is unique is sent once, and said so; a cancel lets it in again.
func TestSendUnique(t *testing.T) {
	onEach(t, func(t *testing.T, s at) {
		once := []string{"send", "reports", "x", "--priority", "100", "--unique", "1d"}
		wantText(t, s.text(t, append(once, "--kind", "priority", "--slots", "4")...), "stored in slot 3 of reports, priority 100")
		wantText(t, s.text(t, once...), "duplicate in slot 3 of reports: an equal one was sent within its time, so this\none was not")
		wantJSON(t, s.objects(t, once...)[0], `{"content":"x","outcome":"duplicate","slot":3,"topic":"reports"}`)

		file := inFile(t, `{"content":"x"}`+"\n"+`{"content":"y","unique":"2h"}`+"\n"+`{"content":"y"}`+"\n"+`{"content":"z","priority":20}`)
		wantText(t, s.text(t, "send", "reports", "--batch", file, "--priority", "50", "--unique", "1h"), "sent 4 messages to reports: 2 stored, 0 merged, 2 duplicates")
		wantJSON(t, s.objects(t, "send", "reports", "--batch", file, "--priority", "50", "--unique", "1h")[0],
			`{"duplicates":4,"last_line":4,"merged":0,"sent":4,"stored":0,"topic":"reports"}`)

		s.text(t, "cancel", "reports", "x")
		wantText(t, s.text(t, once...), "stored in slot 3 of reports, priority 100")
		s.refused(t, 2, "--unique is 1µs; it must be at least 1ms", "send", "reports", "x", "--priority", "100", "--unique", "1us")
		s.refused(t, 2, "not a duration such as", "send", "reports", "x", "--priority", "100", "--unique", "1")
		s.refused(t, 1, `unique is "1", not a duration`, "send", "reports", "--batch", inFile(t, `{"content":"x","unique":"1"}`), "--priority", "100")
	})
}
