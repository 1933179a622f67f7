package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"go.uber.org/zap"

	"github.com/slotmq/go-rmq/internal/commands/frame"
	"github.com/slotmq/go-rmq/message"
	"github.com/slotmq/go-rmq/rmq"
	"github.com/slotmq/go-rmq/server/gateway"
	"github.com/slotmq/go-rmq/server/webhook"
	"github.com/slotmq/go-rmq/slots"
)

// pushService sends the messages of topics to URLs.
var pushService = frame.Command{
	Use:   "push",
	Short: "Send the messages of topics on to URLs, as webhooks",
	Long: `Send the messages of topics on to URLs, until SIGTERM or Ctrl-C. Each message is
one POST, signed as Standard Webhooks 1.0 says. The answer decides:
  2xx                            it is done
  410, or the header Rmq-Dead: 1 it is dead
  429 or 503 with Retry-After    it comes again then
  all else                       it comes again later, up to 16 times
A target that cannot be reached spends none of these.

One target is given by flags, several by a file:
  {"targets": [{"topic": "orders", "url": "https://shop.example/hooks",
                "secret_files": ["secret"], "timeout": "30s"}]}
A secret is made by:  echo "whsec_$(openssl rand -base64 32)" > secret
A file may have several, one a line, and each of them signs. SIGHUP has them
read again.

Let it run twice or more: they share the work. docs/WEBHOOKS.md has the rest.`,
	Example: `  rmqd push --topic orders --to https://shop.example/hooks --secret-file secret
  rmqd push --config push.json
  rmqd push --config push.json --check`,
	GoFlags: func(flags *flag.FlagSet) frame.Step {
		p := &pushing{flags: flags}
		flags.StringVar(&p.config, "config", "", "targets are in a `file` of JSON")
		flags.BoolVar(&p.check, "check", false, "only check the flags or the file, and end")
		flags.StringVar(&p.target.Topic.Name, "topic", "", "`topic` whose messages are sent on")
		flags.StringVar(&p.target.URL, "to", "", "`URL` that they are sent to")
		flags.Var(&p.secretFiles, "secret-file", "`file` of the secrets that sign; may be repeated")
		flags.Var(&p.timeout, "timeout", "`time` that a request may take, with its answer, as in 10s (default 30s)")
		flags.IntVar(&p.target.Concurrency, "concurrency", 20, "`n` requests at once at the most")
		flags.StringVar(&p.target.ContentType, "content-type", "application/octet-stream", "`type` of the bodies")
		flags.BoolVar(&p.target.AllowHTTP, "allow-http", false, "the URL may be http: all on the way can read the messages")
		flags.BoolVar(&p.target.AllowPrivate, "allow-private", false, "the URL may lead to addresses that are not public")
		flags.Var(&p.allow, "allow", "such `addresses` that it may lead to, as in 10.1.0.0/16; may be repeated")
		flags.StringVar(&p.caFile, "ca-file", "", "`file` of the certificates, in PEM, that the target's is checked against")
		flags.StringVar(&p.metrics, "metrics", "", "`host:port` to serve /metrics, /livez and /readyz at")
		p.log = addLogFlag(flags)
		return p.run
	},
}

// pushing is one call of rmqd push.
type pushing struct {
	flags       *flag.FlagSet
	log         *logFlag
	config      string
	check       bool
	target      webhook.Target
	timeout     frame.Span
	allow       prefixes
	secretFiles texts
	caFile      string
	metrics     string // where metrics and probes are served
}

func (p *pushing) run(ctx context.Context, call *frame.Call) error {
	targets, err := p.targets()
	if err != nil {
		return err
	}
	if p.check {
		for _, t := range targets {
			fmt.Fprintln(call.Out, "ok: "+shown(t))
		}
		return nil
	}
	again := make(chan os.Signal, 1) // before anything takes time: SIGHUP would end the process
	signal.Notify(again, syscall.SIGHUP)
	defer signal.Stop(again)
	log := p.log.logger(call.Errs)
	metrics := &gateway.Metrics{}
	to, err := p.open(ctx, call, targets, log, metrics)
	if err != nil {
		return err
	}
	stop, err := watched(ctx, p.metrics, to.Probes(), metrics, log)
	if err != nil {
		return errors.Join(err, to.Close(ctx))
	}
	defer stop()
	err = to.Start(ctx)
	if err == nil {
		for _, t := range targets {
			log.Info("sending " + shown(t))
		}
		for going := true; going; {
			select {
			case <-again:
				p.reread(to, targets, log)
			case <-ctx.Done():
				going = false
			}
		}
	}
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), draining)
	defer cancel()
	if late := to.Close(within); err == nil && late != nil {
		log.Warn("requests were cut off: their messages go back, and spend no attempts", zap.Error(late))
	}
	return err
}

func shown(t webhook.Target) string { return t.Topic.Name + " to " + t.Shown() }

// targets reads the flags, or the file that they name.
func (p *pushing) targets() ([]webhook.Target, error) {
	if p.config != "" {
		return p.fromFile()
	}
	t := p.target
	t.Timeout, t.Allow = time.Duration(p.timeout), p.allow
	for _, f := range []struct{ name, value, what string }{
		{"topic", t.Topic.Name, "whose messages are sent on"}, {"to", t.URL, "the URL that they are sent to"}, {"secret-file", p.secretFiles.String(), "what signs them"},
	} {
		if f.value == "" {
			return nil, frame.Misused("--%s is missing, %s; or have targets in a file, by --config", f.name, f.what)
		}
	}
	for _, name := range p.secretFiles {
		more, err := webhook.ReadSecrets(name)
		if err != nil {
			return nil, frame.Misused("--secret-file: %w", err)
		}
		t.Secrets = append(t.Secrets, more...)
	}
	if p.caFile != "" {
		var err error
		if t.Roots, err = webhook.ReadRoots(p.caFile); err != nil {
			return nil, frame.Misused("--ca-file: %w", err)
		}
	}
	if err := t.Check(); err != nil {
		return nil, asFlag(err)
	}
	return []webhook.Target{t}, nil
}

// fromFile reads the targets from the file of --config, which leaves no room for most other flags.
func (p *pushing) fromFile() ([]webhook.Target, error) {
	extra := ""
	p.flags.VisitAll(func(f *flag.Flag) {
		if f.Value.String() != f.DefValue && f.Name != "config" && f.Name != "check" && f.Name != "log" && f.Name != "metrics" {
			extra = f.Name
		}
	})
	if extra != "" {
		return nil, frame.Misused("--%s beside --config: put it into the file, or leave --config out", extra)
	}
	all, err := webhook.Load(p.config)
	if err != nil {
		return nil, frame.Misused("--config: %w", err)
	}
	return all, nil
}

// flagOf is the flag that sets a field of a target.
var flagOf = map[string]string{
	"Topic.Name": "--topic", "URL": "--to", "Secrets": "--secret-file", "Timeout": "--timeout", "Concurrency": "--concurrency", "ContentType": "--content-type",
}

// inFlags are the flags for what a target can allow.
var inFlags = strings.NewReplacer("allow http for this target", "give --allow-http", "allow private addresses for this target", "give --allow-private")

func asFlag(err error) error {
	var invalid *rmq.InvalidError
	if !errors.As(err, &invalid) {
		return err
	}
	return frame.Misused("%w", &rmq.InvalidError{Field: cmp.Or(flagOf[invalid.Field], invalid.Field), Value: invalid.Value, Limit: inFlags.Replace(invalid.Limit)})
}

// open makes what sends, with the definitions of the topics.
func (p *pushing) open(ctx context.Context, call *frame.Call, targets []webhook.Target, log *zap.Logger, watch message.Observer) (*webhook.Push, error) {
	cfg := webhook.Config{Client: rmq.Config{Namespace: call.Namespace(), Logger: log, Observers: []message.Observer{watch}}, Targets: targets}
	journal, err := call.Journal(ctx)
	if err != nil {
		return nil, err
	}
	if journal != nil { // an interface that holds nil is not nil
		cfg.Client.Journal = journal
	}
	if cfg.Client.Redis, err = call.Redis(ctx); err != nil {
		return nil, byFlag(err)
	}
	if call.ZooKeeper().Servers != nil {
		cfg.Client.Slots = slots.ZooKeeper(call.ZooKeeper())
	}
	for i := range targets {
		found, err := call.Inspector.Topic(ctx, targets[i].Topic.Name)
		switch {
		case errors.Is(err, rmq.ErrUnknownTopic):
			return nil, frame.Failed("%w; start the program that sends to it first, or send a message with %s send", err, call.Name)
		case err != nil:
			return nil, err
		case found.Sharing == "zookeeper" && call.ZooKeeper().Servers == nil:
			return nil, frame.Misused("workers share topic %s by ZooKeeper: say where it is, by --zk or RMQ_ZK", found.Name)
		case found.Sharing == "redis" && call.ZooKeeper().Servers != nil:
			return nil, frame.Misused("workers share topic %s by Redis: leave out --zk and RMQ_ZK", found.Name)
		}
		targets[i].Topic = found.Topic
	}
	return webhook.New(cfg)
}

// reread reads the secrets of the targets again. It ignores wrong ones, and new targets.
func (p *pushing) reread(to *webhook.Push, sent []webhook.Target, log *zap.Logger) {
	targets, err := p.targets()
	for _, t := range targets { // before any is changed
		if !slices.ContainsFunc(sent, func(s webhook.Target) bool { return s.Topic.Name == t.Topic.Name }) {
			err = fmt.Errorf("topic %s has a target since: start anew", t.Topic.Name)
		}
	}
	for _, t := range targets {
		if err == nil {
			err = to.SetSecrets(t.Topic.Name, t.Secrets)
		}
	}
	if err != nil {
		log.Error("SIGHUP: the secrets stay as they were", zap.Error(err))
		return
	}
	log.Info("SIGHUP: the secrets were read again; for other changes, start anew")
}
