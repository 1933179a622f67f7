package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/journal"
	"github.com/slotmq/go-rmq/rmq"
)

// reconcile, status and doctor name what Redis has forgotten, until it is restored, or given up.
func TestReconcile(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			for _, accept := range []bool{false, true} {
				s := newShop(t, kind)
				s.run(journal.Config{}, func(client *rmq.Client) { s.due(client, "mail 1", "mail 2") })
				s.text(words("journal reconcile"), "looked at 4 contents: 0 gone, 0 dead, 0 adopted; nothing is missing",
					"look once more in a minute")
				s.text(words("doctor --json"), `"check":"journal","level":"warn","detail":"no program compares it with Redis at present: what Redis forgets is not noticed"`)

				must.Do(t, s.rdb.FlushAll(ctx).Err())
				s.text(words("journal reconcile mails"), "0 gone, 0 dead, 0 adopted; 2 missing: Redis forgot them")
				var found struct{ Looked, Missing int }
				s.object(&found, "journal", "reconcile")
				if found.Looked != 2 || found.Missing != 2 {
					t.Errorf("%+v", found)
				}
				s.text(words("journal status"), "Redis forgot", "2 messages of mails, in slot", ", when it was last compared\n")
				var status struct {
					Forgot []struct {
						Topic    string
						Slots    []int
						Messages int
					} `json:"redis_forgot"`
				}
				s.object(&status, "journal", "status")
				if f := status.Forgot; len(f) != 1 || f[0].Topic != "mails" || f[0].Messages != 2 || len(f[0].Slots) == 0 {
					t.Errorf("%+v", f)
				}
				r := s.call("doctor")
				has(t, words("doctor"), strings.Join(strings.Fields(r.out), " "), "fail journal: Redis forgot", "run rmqd journal restore")
				if r.code != 1 || !strings.Contains(r.errs, "journal") {
					t.Errorf("exit code %d: %s", r.code, r.errs)
				}
				if accept {
					s.fails(1, words("journal reconcile --accept"), "nothing was changed")
					s.text(words("journal reconcile --accept --yes"), "looked at 2 contents: 2 gone")
				} else {
					s.text(words("journal restore --yes"), "restored 2 waiting messages")
					s.text(words("journal reconcile"), "0 gone, 0 dead, 0 adopted; nothing is missing")
				}
				s.text(words("doctor --json"), `"check":"journal","level":"warn","detail":"no program compares it with Redis at present: what Redis forgets is not noticed"`)
			}
		})
	}
}

// With --every it goes on until it is ended.
func TestReconcileAgain(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.run(journal.Config{}, func(client *rmq.Client) { s.due(client, "mail 1", "mail 2") })
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan result, 1)
	go func() {
		var out, errs bytes.Buffer
		code := program.Run(ctx, []string{"--redis", "redis://" + s.server.Addr(), "--journal", s.journal, "journal", "reconcile", "--every=100ms"}, strings.NewReader(""), &out, &errs)
		ended <- result{code, out.String(), errs.String()}
	}()
	await.True(t, "all is compared", func() bool { return strings.Contains(s.call("doctor").out, "journal: Redis has all that is owed") })
	forgot := func() bool { return strings.Contains(s.call("journal", "status").out, "Redis forgot") }
	must.Do(t, s.rdb.FlushAll(ctx).Err())
	await.True(t, "it is noticed that Redis is empty", forgot)
	cancel()
	if r := await.Signal(t, "it ends", ended); r.code != 0 || !strings.HasPrefix(r.errs, "comparing "+s.journal+" with Redis every 100ms, until Ctrl-C\n") ||
		!strings.Contains(r.errs, "Redis may have forgotten something") || strings.Contains(r.errs, "0001-01-01") {
		t.Errorf("%+v", r)
	}
}

func TestReconcileIsMisused(t *testing.T) {
	t.Parallel()
	s := newShop(t, "SQLite")
	s.run(journal.Config{}, func(client *rmq.Client) { s.due(client, "mail 1") })
	s.fails(2, words("journal reconcile mails --every=1m"), "--every compares all topics")
	s.fails(2, words("journal reconcile --accept --every=1m"), "--every compares all topics")
	s.fails(2, words("journal reconcile mails --accept --yes"), "all topics")
	s.fails(2, words("journal reconcile --every 1m"), "what belongs to --every stands behind =, as in --every=1m")
	s.fails(2, words("journal reconcile --every=0"), "--every is 0s; it must be 1ms or more")
	for _, rate := range []string{"30000/s", "30/m"} {
		s.fails(2, words("journal reconcile --rate "+rate), "--rate is "+rate+"; it must be from 1/s to 20000/s")
	}
	s.fails(2, words("journal reconcile --every=1us"), "it must be 1ms or more")
	s.fails(2, words("journal reconcile nowhere"), "TOPIC is nowhere; it must be a topic that the journal knows: mails")
	r := call("--redis", "redis://"+s.server.Addr(), "--journal", "sqlite:"+letter(t), "doctor", "--json")
	if r.code != 1 || !strings.Contains(r.out, `"check":"journal","level":"fail"`) {
		t.Errorf("%+v", r)
	}
}
