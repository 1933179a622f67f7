package producer

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/servertest"
	"github.com/slotmq/go-rmq/luascripts"
	"github.com/slotmq/go-rmq/message"
)

// The wake-up of one send rides with the next one, whose connection breaks before
// the server has read it. The send is repeated; so must the wake-up be.
func TestWakeUpIsRepeatedWithTheSend(t *testing.T) {
	server := servertest.Redis(t)
	direct := server.Client(t)
	proxy := servertest.NewProxy(t, server.Addr())
	topic := topicOf(t, message.KindPriority)
	topic.Slots = 2
	content := [2]string{} // of slot 0 and slot 1
	for c := 'a'; content[0] == "" || content[1] == ""; c++ {
		content[mustSend(t, newProducer(t, direct, Config{}), topic, message.Priority{Content: string(c), Priority: 17}).Slot] = string(c)
	}
	p := newProducer(t, proxy.Client(t), Config{})
	mustSend(t, p, topic, message.Priority{Content: content[0], Priority: 17})
	p.idle.Wait()
	sub := direct.Subscribe(ctx, luascripts.WakeChannel(topic.Name))
	defer sub.Close()
	if _, err := sub.Receive(ctx); err != nil {
		t.Fatal(err)
	}

	// The second send is queued while the first is on its way.
	var zadds, cuts atomic.Int32
	second := make(chan error, 1)
	proxy.OnRequest(func(b []byte) bool {
		text := string(b)
		switch {
		case strings.Contains(text, "publish") && strings.Contains(text, "zadd") && cuts.Add(1) == 1:
			proxy.Cut()
			proxy.Mend()
			return false
		case strings.Contains(text, "zadd") && zadds.Add(1) == 1:
			go func() {
				_, err := p.Send(ctx, topic, message.Priority{Content: content[1], Priority: 18})
				second <- err
			}()
			for !p.queued() {
				<-time.After(time.Millisecond)
			}
		}
		return true
	})
	mustSend(t, p, topic, message.Priority{Content: content[0], Priority: 18})
	if err := <-second; err != nil {
		t.Fatal(err)
	}
	p.idle.Wait()
	if cuts.Load() == 0 {
		t.Fatal("the test did not do what it says")
	}
	heard := map[int]bool{}
	within, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	for len(heard) < 2 {
		note, err := sub.ReceiveTimeout(within, time.Second)
		if err != nil {
			t.Errorf("heard of slots %v only: %v", heard, err)
			return
		}
		if m, is := note.(interface{ String() string }); is {
			_, payload, _ := strings.Cut(m.String(), ": ")
			luascripts.ParseWake(strings.TrimSuffix(payload, ">"), func(slot int, _ time.Duration) { heard[slot] = true })
		}
	}
}
