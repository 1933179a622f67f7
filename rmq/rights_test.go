package rmq_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
	"github.com/slotmq/go-rmq/rmq"
)

// docs/DEPLOYMENT.md tells which rights a user of Redis needs. These tests read
// the lines there and use exactly them.

// account is a line of ACL SETUSER.
type account struct {
	user   string
	rights []string
}

// documented reads the line that follows a marker.
func documented(t *testing.T, marker string) account {
	t.Helper()
	_, rest, found := strings.Cut(deployment(t), "<!-- acl:"+marker+" -->\n```\nACL SETUSER ")
	line, _, ended := strings.Cut(rest, "\n```\n")
	words := strings.Fields(line)
	if !found || !ended || len(words) < 4 || words[1] != "on" || words[2] != ">secret" {
		t.Fatalf("docs/DEPLOYMENT.md has no line %s: %q", marker, line)
	}
	return account{user: words[0], rights: words[3:]}
}

// addition reads the rights within a marker, which the table names, too.
func addition(t *testing.T, marker string) []string {
	t.Helper()
	doc := deployment(t)
	_, rest, found := strings.Cut(doc, "<!-- acl:"+marker+" ")
	rights, _, ended := strings.Cut(rest, " -->\n")
	if !found || !ended || !strings.Contains(doc, "| `"+strings.ReplaceAll(rights, "|", `\|`)+"` |") {
		t.Fatalf("docs/DEPLOYMENT.md has no addition %s: %q", marker, rights)
	}
	return strings.Fields(rights)
}

func deployment(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../docs/DEPLOYMENT.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func (a account) with(rights ...string) account {
	return account{a.user, slices.Concat(a.rights, rights)}
}

func (a account) without(right string) account {
	return account{a.user, slices.DeleteFunc(slices.Clone(a.rights), func(r string) bool { return r == right })}
}

// grant makes the user be this and nothing else, but for the right that not every
// server knows.
func (a account) grant(t *testing.T, admins ...*redis.Client) {
	t.Helper()
	for _, admin := range admins {
		args, rights := []any{"acl", "setuser", a.user, "reset", "on", ">secret"}, a.rights
		newer := addition(t, "setinfo")
		if admin.Do(context.Background(), "acl", "setuser", "probe", newer[0]).Err() == nil {
			rights = slices.Concat(rights, newer)
		}
		for _, right := range rights {
			args = append(args, right)
		}
		if err := admin.Do(context.Background(), args...).Err(); err != nil {
			t.Fatal(err)
		}
	}
}

func (a account) login(o *redis.Options) { o.Username, o.Password = a.user, "secret" }

func admins(t *testing.T, servers ...*servertest.Server) (all []*redis.Client) {
	for _, server := range servers {
		all = append(all, server.Client(t))
	}
	return all
}

// neverRefused fails the test if the servers had to refuse something.
func neverRefused(t *testing.T, admins ...*redis.Client) {
	t.Helper()
	for _, admin := range admins {
		if log, err := admin.Do(context.Background(), "acl", "log").Slice(); err != nil || len(log) > 0 {
			t.Errorf("refused: %v %v", log, err)
		}
	}
}

// startWorker starts a client with a listener.
func startWorker(rdb redis.UniversalClient, topic rmq.Topic, l rmq.MessageListener, cfg rmq.Config) (*rmq.Client, error) {
	cfg.Redis, cfg.Lease, cfg.SafetyLook, cfg.Backoff = rdb, time.Second, 50*time.Millisecond, rmq.Schedule(time.Millisecond)
	client, err := rmq.New(cfg)
	if err == nil {
		err = client.Listen(topic, l, rmq.ListenOptions{})
	}
	if err == nil {
		err = client.Start(context.Background())
	}
	return client, err
}

// end closes a client that may not be allowed to leave its slots.
func end(client *rmq.Client) error {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return client.Close(ctx)
}

// A worker with these rights can do all that workers do, in topics of each kind.
func workersLife(t *testing.T, rdb redis.UniversalClient, topic rmq.Topic, cfg rmq.Config) {
	t.Helper()
	ctx := context.Background()
	ended := make(chan string, 100)
	listener := rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		switch {
		case d.Content == "slow" && d.Attempt == 1: // until its lease has been renewed
			renewed := time.NewTimer(500 * time.Millisecond)
			<-renewed.C
		case d.Content == "twice" && d.Attempt == 1:
			return errors.New("once more")
		case d.Content == "poison":
			if d.Attempt == 17 {
				ended <- d.Content
			}
			return errors.New("never")
		case d.Content == "hopeless":
			ended <- d.Content
			return rmq.Dead(errors.New("no"))
		}
		ended <- d.Content
		return nil
	})
	cfg.Redis = rdb
	sender, err := rmq.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	send := func(content string) rmq.Receipt {
		for soon := 100 * time.Millisecond; ; soon *= 2 {
			var m rmq.Message
			switch topic.Kind {
			case rmq.KindRangeMerge:
				m = rmq.RangeMerge{Content: content, Range: soon}
			case rmq.KindPriority:
				m = rmq.Priority{Content: content, Priority: 20}
			default:
				m = rmq.FixedTime{Content: content, At: time.Now().Add(soon)}
			}
			receipt, err := sender.Send(ctx, topic, m)
			switch {
			case err == nil, cfg.Durability.Replicas > 0 && errors.Is(err, rmq.ErrNotReplicated):
				return receipt
			case !errors.Is(err, rmq.ErrInvalid): // else it took so long that the time is past
				t.Fatal(err)
			}
		}
	}
	contents := []string{"plain", "slow", "twice", "poison", "hopeless"}
	send("plain")
	if receipt := send("plain"); receipt.Outcome != rmq.Merged && cfg.Durability.Replicas == 0 { // nobody works yet
		t.Errorf("%v", receipt)
	}
	client, err := startWorker(rdb, topic, listener, cfg)
	if err != nil {
		t.Fatal(err)
	}
	other, err := startWorker(rdb, topic, listener, cfg) // shares the slots
	if err != nil {
		t.Fatal(err)
	}
	for _, content := range contents[1:] {
		send(content)
	}
	missing := slices.Clone(contents)
	for len(missing) > 0 {
		content := await.Signal(t, fmt.Sprintf("%v: one of %q is handled", topic, missing), ended)
		missing = slices.DeleteFunc(missing, func(m string) bool { return m == content })
	}
	for _, c := range []*rmq.Client{other, client, sender} {
		if err := c.Close(ctx); err != nil {
			t.Error(err)
		}
	}
}

func TestWorkersWithDocumentedRights(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line  string
		add   []string
		topic rmq.Topic
		cfg   rmq.Config
		db    int
	}{
		{line: "worker", topic: rmq.Topic{Kind: rmq.KindRangeMerge}},
		{line: "worker", topic: rmq.Topic{Kind: rmq.KindRangeMerge, Literal: true, Slots: 1}},
		{line: "worker", topic: rmq.Topic{Kind: rmq.KindPriority, Slots: 1}},
		{line: "worker", topic: rmq.Topic{Kind: rmq.KindFixedTime, Slots: 256}, cfg: rmq.Config{MaxWaiting: 100, ExactReceipts: true}},
		{line: "worker", topic: rmq.Topic{Kind: rmq.KindPriority}, add: slices.Concat(addition(t, "database"), addition(t, "durability")),
			cfg: rmq.Config{Durability: rmq.Durability{Replicas: 1, Timeout: time.Millisecond}}, db: 3},
		{line: "worker", topic: rmq.Topic{Kind: rmq.KindPriority, Slots: 4, Notes: true}, add: addition(t, "noted")},
		{line: "all", topic: rmq.Topic{Kind: rmq.KindFixedTime}},
		{line: "namespace", topic: rmq.Topic{Kind: rmq.KindPriority}, cfg: rmq.Config{Namespace: "shop"}},
	} {
		t.Run(fmt.Sprint(c.line, c.topic.Kind, c.topic.Slots, c.topic.Notes), func(t *testing.T) {
			t.Parallel()
			server, user := servertest.TLS(t), documented(t, c.line).with(c.add...)
			user.grant(t, server.Client(t))
			c.topic.Name = "orders"
			workersLife(t, server.Client(t, user.login, func(o *redis.Options) { o.DB = c.db }), c.topic, c.cfg)
			neverRefused(t, server.Client(t))
		})
	}
}

func TestProducersWithDocumentedRights(t *testing.T) {
	t.Parallel()
	server, user := servertest.TLS(t), documented(t, "producer")
	admin := server.Client(t)
	for _, c := range []struct {
		add            []string
		literal, notes bool
		extends        bool
		unique         time.Duration
	}{
		{},
		{literal: true},
		{add: addition(t, "extends"), extends: true},
		{add: addition(t, "extends"), extends: true, literal: true},
		{add: addition(t, "notes"), notes: true},
		{add: addition(t, "unique"), unique: time.Hour},
		{add: slices.Concat(addition(t, "extends"), addition(t, "notes")), notes: true, extends: true},
	} {
		admin.FlushAll(context.Background())
		user.with(c.add...).grant(t, admin)
		topic := rmq.Topic{Name: "orders", Kind: rmq.KindRangeMerge, Literal: c.literal, Notes: c.notes}
		for _, most := range []int{0, 10} {
			client, err := rmq.New(rmq.Config{Redis: server.Client(t, user.login), MaxWaiting: most})
			if err != nil {
				t.Fatal(err)
			}
			m := rmq.RangeMerge{Content: fmt.Sprint(most), Range: time.Minute, Unique: c.unique}
			if m.Extend = c.extends; m.Extend {
				m.Ceiling = time.Hour
			}
			for range 2 {
				if _, err := client.Send(context.Background(), topic, m); err != nil {
					t.Error(err)
				}
			}
			if err := client.Close(context.Background()); err != nil {
				t.Error(err)
			}
		}
	}
	neverRefused(t, admin)
}

// named are the rights an error names.
func named(err error) []string {
	rights := regexp.MustCompile(`(?:^|\s)([+~&][^\s,;]+)`)
	var found []string
	for _, m := range rights.FindAllStringSubmatch(fmt.Sprint(err), -1) {
		found = append(found, m[1])
	}
	slices.Sort(found)
	return found
}

// Each right taken away is named, and no other one.
func TestEachMissingRightIsNamed(t *testing.T) {
	t.Parallel()
	server, orders := servertest.TLS(t), rmq.Topic{Name: "orders", Kind: rmq.KindPriority}
	admin := server.Client(t)
	startAt := func(rdb redis.UniversalClient, orders rmq.Topic) error {
		client, err := startWorker(rdb, orders, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return nil }), rmq.Config{})
		return errors.Join(err, end(client))
	}
	start := func(rdb redis.UniversalClient) error { return startAt(rdb, orders) }
	startNoted := func(rdb redis.UniversalClient) error {
		admin.FlushAll(context.Background())
		return startAt(rdb, rmq.Topic{Name: "orders", Kind: rmq.KindPriority, Notes: true})
	}
	send := func(cfg rmq.Config) func(redis.UniversalClient) error {
		return func(rdb redis.UniversalClient) error {
			cfg.Redis = rdb
			client, err := rmq.New(cfg)
			if err == nil {
				_, err = client.Send(context.Background(), orders, rmq.Priority{Content: "x", Priority: 17})
			}
			return errors.Join(err, end(client))
		}
	}
	sendOne := func(topic rmq.Topic, m rmq.Message) func(redis.UniversalClient) error {
		topic.Name = orders.Name
		return func(rdb redis.UniversalClient) error {
			admin.FlushAll(context.Background())
			client, err := rmq.New(rmq.Config{Redis: rdb})
			if err == nil {
				_, err = client.Send(context.Background(), topic, m)
			}
			return errors.Join(err, end(client))
		}
	}
	durably := send(rmq.Config{Durability: rmq.Durability{Replicas: 1, Timeout: time.Millisecond}})
	allKeys := documented(t, "worker").rights
	allKeys = slices.DeleteFunc(allKeys, func(right string) bool { return right[0] != '~' })
	slices.Sort(allKeys)
	for _, c := range []struct {
		line, add string
		db        int
		try       func(redis.UniversalClient) error
		works     error
	}{
		{line: "worker", try: start},
		{line: "producer", try: send(rmq.Config{})},
		{line: "all", try: start},
		{line: "worker", add: "database", db: 3, try: start},
		{line: "producer", add: "database", db: 3, try: send(rmq.Config{})},
		{line: "producer", add: "durability", try: durably, works: rmq.ErrNotReplicated},
		{line: "producer", add: "extends", try: sendOne(rmq.Topic{Kind: rmq.KindRangeMerge}, rmq.RangeMerge{Content: "x", Range: time.Minute, Extend: true, Ceiling: time.Hour})},
		{line: "worker", add: "noted", try: startNoted},
		{line: "producer", add: "unique", try: sendOne(rmq.Topic{Kind: rmq.KindPriority}, rmq.Priority{Content: "x", Priority: 17, Unique: time.Hour})},
		{line: "producer", add: "journal", try: send(rmq.Config{Journal: newLedger()})},
		{line: "producer", add: "notes", try: sendOne(rmq.Topic{Kind: rmq.KindPriority, Notes: true}, rmq.Priority{Content: "x", Priority: 17})},
	} {
		user, take := documented(t, c.line), documented(t, c.line).rights
		if c.add != "" {
			take = addition(t, c.add)
			user = user.with(take...)
		}
		client := func() *redis.Client { return server.Client(t, user.login, func(o *redis.Options) { o.DB = c.db }) }
		user.grant(t, admin)
		if err := c.try(client()); !errors.Is(err, c.works) {
			t.Fatalf("%s %s: %v", c.line, c.add, err)
		}
		rdb := client()
		for _, right := range take {
			user.without(right).grant(t, admin)
			if c.db != 0 {
				rdb = client() // the number is chosen when it connects
			}
			err, want := c.try(rdb), []string{right}
			switch right {
			case "~*":
				want = allKeys
			case "&rmq:wake{*}":
				want = []string{"&rmq:wake{orders}"}
			}
			if got := named(err); !slices.Equal(got, want) {
				t.Errorf("%s without %s: %v", c.line, right, err)
			}
		}
	}
}

func TestDocumentedRightsOnACluster(t *testing.T) {
	t.Parallel()
	cluster := servertest.Cluster(t, 3, 0)
	nodes, user := admins(t, cluster.Nodes()...), documented(t, "worker").with(addition(t, "cluster")...)
	login := func(o *redis.ClusterOptions) { o.Username, o.Password = user.user, "secret" }
	topic := rmq.Topic{Name: "orders", Kind: rmq.KindRangeMerge, Slots: 64}
	user.grant(t, nodes...)
	workersLife(t, cluster.Client(t, login), topic, rmq.Config{})

	moving := cluster.Migrate(t, "{orders_0}") // an empty slot: whatever is sent there is sent on
	ms := make([]rmq.Message, 500)
	for i := range ms {
		ms[i] = rmq.RangeMerge{Content: fmt.Sprint(i), Range: time.Hour}
	}
	sender, err := rmq.New(rmq.Config{Redis: cluster.Client(t, login)})
	if err == nil {
		_, err = sender.SendBatch(context.Background(), topic, ms)
	}
	if err = errors.Join(err, sender.Close(context.Background())); err != nil {
		t.Error(err)
	}
	if stats := moving.To.Client(t).Info(context.Background(), "commandstats").Val(); !strings.Contains(stats, "cmdstat_asking:") {
		t.Error("nothing was sent on to the slot's new server")
	}
	moving.Finish(t)
	neverRefused(t, nodes...)

	for _, right := range addition(t, "cluster") {
		user.without(right).grant(t, nodes...)
		client, err := startWorker(cluster.Client(t, login), topic, rmq.ListenerFunc(func(context.Context, *rmq.Delivery) error { return nil }), rmq.Config{})
		want := []string{right}
		if right == "+cluster|nodes" { // who lacks it goes on as if nothing were called failed
			want = nil
		}
		if err := errors.Join(err, end(client)); !slices.Equal(named(err), want) || want == nil && err != nil {
			t.Errorf("without %s: %v", right, err)
		}
	}
}

// The rights at Sentinels are enough to find the master, and its successor.
func TestDocumentedRightsOfSentinels(t *testing.T) {
	t.Parallel()
	group := servertest.Sentinel(t)
	user, watcher := documented(t, "worker"), documented(t, "sentinel")
	nodes, sentinels := admins(t, group.Nodes()...), admins(t, group.Sentinels()...)
	user.grant(t, nodes...)
	watcher.grant(t, sentinels...)
	rdb := group.Client(t, func(o *redis.FailoverOptions) {
		o.Username, o.Password = user.user, "secret"
		o.SentinelUsername, o.SentinelPassword = watcher.user, "secret"
	})
	orders := rmq.Topic{Name: "orders", Kind: rmq.KindPriority}
	workersLife(t, rdb, orders, rmq.Config{})
	neverRefused(t, slices.Concat(nodes, sentinels)...)

	client, y := onCluster(t, rdb, orders)
	old := group.Master(t)
	old.Kill()
	group.Master(t)
	for { // until the client has found the new one
		if _, err := client.Send(context.Background(), orders, rmq.Priority{Content: "after", Priority: 17}); err == nil {
			break
		}
	}
	await.Signal(t, "it is handled", y.news)
	neverRefused(t, sentinels...)
}

// Plans are set and ended by a program that sends, and by a worker, and the worker sends what they
// say, each with no other rights than those in the document.
func TestPlansWithDocumentedRights(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	server, topic := servertest.TLS(t), rmq.Topic{Name: "orders", Kind: rmq.KindFixedTime, Slots: 4}
	admin := server.Client(t)
	producer, worker := documented(t, "producer"), documented(t, "worker")
	rule := rmq.Recurring{Name: "p", Content: "x", Period: 100 * time.Millisecond}
	life := func(client *rmq.Client) error {
		_, err := client.Plans(ctx, topic)
		return errors.Join(client.Every(ctx, topic, rule), client.Every(ctx, topic, rule), err, client.StopEvery(ctx, topic, "p"))
	}
	setter := opened(t, rmq.Config{Redis: server.Client(t, producer.login)})
	producer.grant(t, admin)
	if err := setter.Every(ctx, topic, rule); err == nil {
		t.Error("a producer needs no more rights")
	} else if got := named(err); !slices.Equal(got, []string{"+hget", "+hscan", "+pexpire", "+sscan", "+zrem", "+zremrangebyscore", "+zscore", "~plan{orders_*}", "~rmq:ended{orders}", "~rmq:plans{orders}", "~rule{orders_*}"}) {
		t.Errorf("%v", err)
	}
	must.Do(t, admin.Do(ctx, "acl", "log", "reset").Err())
	producer.with(addition(t, "plans")...).grant(t, admin)
	worker.with("~rmq:ended{orders}", "+hscan", "+sscan", "+zremrangebyscore").grant(t, admin)
	must.Do(t, life(setter))
	handled := make(chan string, 1000)
	client, err := startWorker(server.Client(t, worker.login), topic, rmq.ListenerFunc(func(_ context.Context, d *rmq.Delivery) error {
		handled <- d.Content
		return nil
	}), rmq.Config{})
	must.Do(t, err)
	must.Do(t, life(client))
	must.Do(t, setter.Every(ctx, topic, rule))
	nextTime(t, handled, "x")
	nextTime(t, handled, "x")
	must.Do(t, client.Close(ctx))
	neverRefused(t, admin)
}
