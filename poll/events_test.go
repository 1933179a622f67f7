package poll

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/message"
)

// witness notes what observers are told.
type witness struct {
	mu   sync.Mutex
	said []string
}

func (w *witness) Observe(e *message.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, x := range e.Items {
		w.said = append(w.said, fmt.Sprintf("%s %s %d", x.What, x.Content, x.Attempt))
	}
}

// heard is what they were told since the last time, in the order of the words.
func (w *witness) heard() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	said := w.said
	slices.Sort(said)
	w.said = nil
	return said
}

// Each delivery is told once when it is taken and once when it has ended, by the process that finishes it; what did not
// count is told as overtaken.
func TestObserversAreToldEachEndOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindFixedTime, Slots: 1})
	at, by := &witness{}, &witness{}
	a := s.poller(Config{Observers: []message.Observer{at}})
	b := s.poller(Config{Observers: []message.Observer{by}})
	wants := func(w *witness, want ...string) {
		t.Helper()
		if got := w.heard(); !slices.Equal(got, want) {
			t.Errorf("told %q, want %q", got, want)
		}
	}
	s.sends("done", "failed", "dead", "later", "back")
	h := s.take(a, Take{Most: 5})
	wants(at, "taken back 1", "taken dead 1", "taken done 1", "taken failed 1", "taken later 1")
	verdicts := []Verdict{Failed("no", time.Millisecond).Of("failed"), Dead("never").Of("dead"), Later(time.Hour, "not now").Of("later"), NotStarted().Of("back")}
	s.finish(b, h, true, verdicts...)
	wants(by, "died dead 1", "done done 1", "failed failed 1", "handed back back 1", "snoozed later 1")
	s.finish(b, h, false, verdicts...)
	wants(by) // whose batch it is not any more
	got := map[string]bool{}
	for len(got) < 2 {
		h = s.take(a, Take{})
		got[fmt.Sprint(h.Messages[0].Content, h.Attempt)] = true
		s.finish(a, h, true)
	}
	if !got["back1"] || !got["failed2"] {
		t.Errorf("%v", got)
	}
	wants(at, "done back 1", "done failed 2", "taken back 1", "taken failed 2")
	wants(by)
	// The 17th delivery fails: that is a death.
	s.sends("unlucky")
	for attempt := 1; attempt <= message.MaxRetries+1; attempt++ {
		at.heard()
		h := s.take(a, Take{})
		s.has(h, "unlucky", attempt)
		s.finish(a, h, true, Failed("no", time.Millisecond))
	}
	wants(at, "died unlucky 17", "taken unlucky 17")
}

// The answer of a finish gets lost, so nobody knows: observers are not told that the messages were done.
func TestObserversAreToldOnlyWhatIsProven(t *testing.T) {
	t.Parallel()
	s, proxy := behindProxy(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	w := &witness{}
	p := s.poller(Config{Observers: []message.Observer{w}})
	s.sends("x")
	h := s.take(p, Take{})
	lost := proxy.LoseNextReply("meta{orders_0}", "evalsha")
	_, err := p.Finish(ctx, h.Receipt)
	<-lost
	if err == nil {
		t.Error("it is known")
	}
	if got := w.heard(); !slices.Equal(got, []string{"overtaken x 1", "taken x 1"}) {
		t.Errorf("told %q", got)
	}
}

// An observer that panics, or ends its goroutine, keeps nobody from taking and finishing.
func TestObserversThatMisbehave(t *testing.T) {
	t.Parallel()
	s := newShop(t, message.Topic{Kind: message.KindPriority, Slots: 1})
	p := s.poller(Config{Observers: []message.Observer{message.ObserverFunc(func(*message.Event) { panic("observer") })}})
	s.sends("x")
	s.finish(p, s.take(p, Take{}), true)
}
