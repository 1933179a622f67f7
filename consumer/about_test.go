package consumer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/internal/worker/verdict"
	"github.com/slotmq/go-rmq/message"
)

// book is a log of slog, at Debug.
type book struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(p)
}

func (b *book) text() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}

func (b *book) logger() *slog.Logger {
	return slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// await returns the first line that begins with a text.
func (b *book) await(t *testing.T, msg string) (line map[string]any) {
	t.Helper()
	await.True(t, "the log says: "+msg, func() bool {
		for text := range strings.Lines(b.text()) {
			line = nil
			must.Do(t, json.Unmarshal([]byte(text), &line))
			if strings.HasPrefix(line["msg"].(string), msg) {
				return true
			}
		}
		return false
	})
	return line
}

// What is said of messages when all goes wrong that can: each line names the topic, the slot
// and the message. With HideContents no line has the content, although handlers, panics and
// a Backoff repeat it in what they say.
func TestLinesAboutMessages(t *testing.T) {
	t.Parallel()
	for _, hide := range []bool{false, true} {
		t.Run(fmt.Sprint("hidden-", hide), func(t *testing.T) {
			t.Parallel()
			server, b := servertest.SharedRedis(t), &book{}
			proxy := servertest.NewProxy(t, server.Addr())
			cfg := Config{Slog: b.logger(), HideContents: hide, Lease: time.Second, SafetyLook: 50 * time.Millisecond}
			topic := topicOf(t, message.KindFixedTime, 1)
			released := make(chan struct{})
			work(t, server.Client(t), cfg, topic, func(ctx context.Context, d *Delivery) error {
				switch d.Content {
				case "secret-dead":
					return verdict.DeadError(fmt.Errorf("%s is no order", d.Content))
				case "secret-panic":
					panic("never seen: " + d.Content)
				case "secret-hung":
					<-released
				case `{"name": "secret-quoted"}`:
					return verdict.DeadError(fmt.Errorf("bad order %q", d.Content))
				case "secret-later":
					return fmt.Errorf("%s: %w", d.Content, verdict.LaterError(time.Hour))
				case "secret-slow":
					return fmt.Errorf("%s is too slow", d.Content)
				}
				return verdict.RetryError(time.Hour, fmt.Errorf("not yet: %s", d.Content))
			}, ListenOptions{
				Timeout: 100 * time.Millisecond, hung: 300 * time.Millisecond,
				Backoff: func(int) time.Duration { panic("no time") },
			})
			t.Cleanup(func() { close(released) }) // before the worker is closed
			s := newSender(t, server.Client(t), topic)
			wants := map[string]string{}
			for content, line := range map[string]string{
				"secret-dead":  "message is dead",
				"secret-panic": "handler panicked",
				"secret-retry": "message failed and will be retried",
				"secret-slow":  "Backoff panicked",
				"secret-later": "message is put back by its handler",
			} {
				s.send(t, content)
				wants[line] = content
				b.await(t, line)
			}
			s.send(t, `{"name": "secret-quoted"}`)
			await.True(t, "it is dead", func() bool { return strings.Contains(b.text(), "bad order") })
			s.send(t, "secret-hung")
			wants["handler has run for longer than its timeout"] = "secret-hung"
			wants["handler ignores its context"] = "secret-hung"
			b.await(t, "handler ignores its context")

			lost := topicOf(t, message.KindFixedTime, 1)
			s = newSender(t, server.Client(t), lost)
			begun := make(chan struct{})
			work(t, proxy.Client(t, impatient), Config{Slog: b.logger(), HideContents: hide, Lease: 3 * time.Second}, lost, func(ctx context.Context, d *Delivery) error {
				if d.Attempt == 1 {
					close(begun)
					<-ctx.Done()
				}
				return ctx.Err()
			})
			s.send(t, "secret-lost")
			await.Signal(t, "the message is in its handler", begun)
			proxy.Freeze()
			wants["the lease of a batch is lost"] = "secret-lost"
			b.await(t, "the lease of a batch is lost")
			b.await(t, "Redis is away")
			over := newNotes()
			work(t, server.Client(t), Config{Slog: b.logger(), HideContents: hide, SafetyLook: 50 * time.Millisecond}, lost, over.done())
			over.awaitAll(t, []string{"secret-lost"})
			proxy.Thaw()
			b.await(t, "Redis answers again")

			for line, content := range wants {
				l := b.await(t, line)
				if l["topic"] == nil || l["slot"] != 0.0 {
					t.Errorf("the line names no topic or slot: %v", l)
				}
				if _, said := l["content"]; said == hide {
					t.Errorf("the line is %v", l)
				}
				if !hide && !strings.Contains(fmt.Sprint(l["content"]), "secret-") {
					t.Errorf("the line about %s is %v", content, l)
				}
			}
			if n := strings.Count(b.text(), "secret-"); hide == (n > 0) {
				t.Errorf("%d contents are in the log:\n%s", n, b.text())
			}
			if hide && !strings.Contains(b.text(), "never seen: …") {
				t.Error("what the panic said without the content is lost")
			}
		})
	}
}

// A long content is shortened, to whole characters.
func TestLongContentInTheLog(t *testing.T) {
	t.Parallel()
	b := &book{}
	topic := topicOf(t, message.KindFixedTime, 1)
	work(t, shared(t), Config{Slog: b.logger()}, topic, func(context.Context, *Delivery) error { return verdict.DeadError(fmt.Errorf("no")) })
	newSender(t, shared(t), topic).send(t, strings.Repeat("é", 5_000))
	got := b.await(t, "message is dead")["content"].(string)
	if want := strings.Repeat("é", 500) + "…"; got != want {
		t.Errorf("the content is shortened to %d bytes: %.20s…", len(got), got)
	}
}

// A line about a death that cannot be reported names it, or hides it with all that repeats it.
func TestLinesAboutDeaths(t *testing.T) {
	t.Parallel()
	const quoted, panics, ends = `{"name": "secret-quoted"}`, "secret-panics", "secret-ends"
	for _, hide := range []bool{false, true} {
		t.Run(fmt.Sprint("hidden-", hide), func(t *testing.T) {
			t.Parallel()
			b := &book{}
			for content, want := range map[string]string{
				quoted: `no mail for "…"`, panics: "panic: no mail for …", ends: "its goroutine was ended",
			} {
				topic := topicOf(t, message.KindFixedTime, 1)
				topic.Name += fmt.Sprint(len(content))
				c := newConsumer(t, shared(t), Config{Slog: b.logger(), HideContents: hide})
				must.Do(t, c.ListenDead(topic, func(_ context.Context, d *Death) error {
					switch content {
					case panics:
						panic("no mail for " + d.Content)
					case ends:
						runtime.Goexit()
					}
					return fmt.Errorf("no mail for %q", d.Content)
				}))
				must.Do(t, c.Listen(topic, ListenerFunc(func(context.Context, *Delivery) error { return verdict.DeadError(errors.New("no")) }), ListenOptions{}))
				start(t, c)
				newSender(t, shared(t), topic).send(t, content)
				var line map[string]any
				await.True(t, "the log says it", func() bool {
					for text := range strings.Lines(b.text()) {
						line = nil
						must.Do(t, json.Unmarshal([]byte(text), &line))
						if line["topic"] == topic.Name && line["msg"] == "a death could not be reported, and will be reported again" {
							return true
						}
					}
					return false
				})
				if line["slot"] != 0.0 || line["times"] != 1.0 {
					t.Errorf("the line is %v", line)
				}
				if _, said := line["content"]; said == hide || !hide && line["content"] != content {
					t.Errorf("the line is %v", line)
				}
				if hide && line["error"] != want {
					t.Errorf("the error is %v, want %v", line["error"], want)
				}
			}
			if n := strings.Count(b.text(), "secret-"); hide == (n > 0) {
				t.Errorf("%d contents are in the log:\n%s", n, b.text())
			}
		})
	}
}

// An error is shortened without the contents: what is left of one could not be found.
func TestLongErrorInTheLog(t *testing.T) {
	t.Parallel()
	b := &book{}
	topic := topicOf(t, message.KindFixedTime, 1)
	work(t, shared(t), Config{Slog: b.logger(), HideContents: true}, topic, func(_ context.Context, d *Delivery) error {
		return verdict.DeadError(errors.New(strings.Repeat("x", 990) + d.Content))
	})
	newSender(t, shared(t), topic).send(t, "a secret for which is no room")
	if got := b.await(t, "message is dead")["error"]; got != strings.Repeat("x", 990)+"…" {
		t.Errorf("the error is %v", got)
	}
}
