package webtest

import (
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/webtest/browser"
)

// A message that waits because all others of its topic fail says so: its worker does not merely have to look.
func TestWaitsBecauseAllFail(t *testing.T) {
	t.Parallel()
	at := newScene(t, servertest.Redis(t).Client(t)).console()
	p := browser.Open(t, browser.View{})
	p.Open(at) // has read who works
	p.Open(at + "messages?topic=broken&state=retrying")
	p.Follow("main table a")
	p.WaitFor("main .place", "all messages of the topic have failed there")
	if text := p.Text("main .place"); strings.Contains(text, "to look") {
		t.Errorf("it says: %s", text)
	}
	p.Fine()
}
