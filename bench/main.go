// Command bench measures RMQ on Redis servers that it starts itself, through
// the public API, side by side with what people use today:
//
//	cd bench && go run . -quick              the headline, in a minute or two
//	cd bench && go run .                     every table, in about 50 minutes
//	cd bench && go run . -only both,consume  some of them
//	cd bench && go run . -only goals         the goals for many slots and for flow, met or not
//	cd bench && go run . -only work          handlers that take time, in 25 minutes; -parts exp,bimodal measures some
//	cd bench && go run . -backlog 100000000  on top of 10^8 waiting messages
//	cd bench && go run . -only both -runs 5 -plots ../docs   the figures of README.md, in an hour
//
// Tables go to standard output, as Markdown, and progress to standard error. The
// rounds of all contestants of a table are interleaved and it shows their medians,
// because a machine's speed moves from minute to minute. Only ratios within one
// table mean something. Every message has an identity: a round in which one was
// lost or came twice says so and fails the run.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/slotmq/go-rmq/bench/internal/report"
	"github.com/slotmq/go-rmq/bench/internal/servers"
)

var ctx = context.Background()

// bench is one run.
type bench struct {
	options
	*report.Report
	progress *report.Progress
	fleet    *servers.Fleet
	self     string  // path of this program
	idlers   *idlers // that are watched while the sections run
}

type options struct {
	quick    bool
	rounds   int
	messages int
	callers  int
	payload  int
	backlog  int
	plots    string
	results  string
	runs     int
	pause    time.Duration
	only     string
	before   string
	journal  string
	work     workOptions
}

// section is a part of the report: one table or a few that belong together.
type section struct {
	name  string // for -only
	title string
	about string             // how it is measured, for a reader of the table
	quick bool               // a part of -quick
	alone bool               // only when it is asked for
	begin func(*bench) error // if set, called before any section runs
	run   func(*bench) error
}

func main() {
	redis.SetLogger(silence{})
	if len(os.Args) == 2 && os.Args[1] == childArgument {
		if err := childMain(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
		return
	}
	o := options{}
	names := make([]string, len(sections))
	for i, s := range sections {
		names[i] = s.name
	}
	flag.BoolVar(&o.quick, "quick", false, "the headline in a minute or two: fewer tables, smaller ones")
	flag.StringVar(&o.only, "only", "", "tables to measure, separated by commas: "+strings.Join(names, ", "))
	flag.IntVar(&o.rounds, "rounds", 5, "interleaved rounds; the tables show their medians")
	flag.IntVar(&o.runs, "runs", 1, "whole runs of the first table, for a headline that holds at different times")
	flag.DurationVar(&o.pause, "pause", 10*time.Minute, "how long to wait between the runs of -runs")
	flag.IntVar(&o.messages, "messages", 0, "messages of a round of RMQ (default 400,000, with -quick 150,000)")
	flag.IntVar(&o.callers, "callers", 256, "goroutines that call Send of RMQ, each waiting for its receipt")
	flag.IntVar(&o.payload, "payload", 100, "bytes of a message")
	flag.IntVar(&o.backlog, "backlog", 0, "measure only this: on top of so many waiting messages of 32 bytes")
	flag.StringVar(&o.plots, "plots", "", "write the headline as pictures into this directory, too")
	flag.StringVar(&o.results, "results", "", "write each table into a file of this directory, too, named after it")
	flag.StringVar(&o.before, "before", "", "for the tables of journal, extras and work: this program built from an older commit, to be measured beside it")
	flag.StringVar(&o.journal, "journal", "", "for the table of journals: `URLs` of databases, separated by commas, beside SQLite")
	o.work.flags()
	parse()
	if o.messages == 0 {
		if o.messages = 400_000; o.quick {
			o.messages = 150_000
		}
	}
	if o.backlog != 0 {
		o.only = backlogSection.name
	}
	chosen, err := choose(o)
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	if err := interruptible(o, chosen); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// parse reads the flags. A typo is answered in one line.
func parse() {
	flags := flag.CommandLine
	flags.Init("bench", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	switch err := flags.Parse(os.Args[1:]); {
	case errors.Is(err, flag.ErrHelp):
		fmt.Println("bench takes these flags:")
		flags.SetOutput(os.Stdout)
		flags.PrintDefaults()
		os.Exit(0)
	case err != nil:
		fmt.Fprintf(os.Stderr, "bench: %v (-h shows the flags)\n", err)
		os.Exit(2)
	}
}

// choose returns the sections that the options ask for.
func choose(o options) (chosen []section, err error) {
	if flag.NArg() > 0 {
		return nil, fmt.Errorf("unexpected argument %q; only flags are taken", flag.Arg(0))
	}
	if o.rounds < 1 || o.runs < 1 || o.messages < 1000 || o.callers < 1 || o.payload < 16 {
		return nil, errors.New("counts are at least 1, -messages at least 1000, and a -payload has at least 16 bytes")
	}
	if err := o.work.check(); err != nil {
		return nil, err
	}
	var asked []string
	if o.only != "" {
		asked = strings.Split(o.only, ",")
	}
	if slices.Contains(asked, backlogSection.name) {
		if err := room(o.backlog); err != nil {
			return nil, err
		}
	}
	for _, s := range sections {
		at := slices.Index(asked, s.name)
		if at >= 0 {
			asked = slices.Delete(asked, at, at+1)
		}
		if at >= 0 || o.only == "" && !s.alone && (s.quick || !o.quick) {
			chosen = append(chosen, s)
		}
	}
	if len(asked) > 0 {
		return nil, fmt.Errorf("-only %s: there is no such table; -h lists them", asked[0])
	}
	if o.plots != "" && !slices.ContainsFunc(chosen, func(s section) bool { return s.name == bothSection.name }) {
		return nil, fmt.Errorf("-plots: the picture is of the table %q, which is not asked for", bothSection.name)
	}
	return chosen, nil
}

// interruptible stops the servers and removes their directories however the run
// ends, by Ctrl-C too.
func interruptible(o options, chosen []section) error {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	b := &bench{options: o, Report: report.New(os.Stdout), progress: report.NewProgress(), fleet: &servers.Fleet{}}
	var err error
	if b.self, err = os.Executable(); err != nil {
		return fmt.Errorf("find this program: %w", err)
	}
	done := make(chan error, 1)
	defer b.progress.Done()
	defer b.fleet.Stop()
	go func() { done <- b.run(chosen) }()
	select {
	case err := <-done:
		return err
	case <-signals:
		return errors.New("interrupted")
	}
}

// run measures the sections one after the other.
func (b *bench) run(chosen []section) error {
	if b.results != "" {
		if err := os.MkdirAll(b.results, 0o755); err != nil {
			return err
		}
	}
	p, err := b.fleet.Apart(1)
	if err != nil {
		return err
	}
	how := fmt.Sprintf("`go run . %s` on %s: Redis %s without persistence unless said, %s, %d processors shared by servers and clients. "+
		"%d bytes a message unless said. RMQ has its default settings, but for 16 slots where the table says no other number, and a "+
		"Concurrency of as many as there are slots if these are more than 64. Medians of interleaved rounds.", strings.Join(os.Args[1:], " "), time.Now().Format(time.DateOnly),
		p.Servers[0].Version(), runtime.Version(), runtime.NumCPU(), b.payload)
	b.Title("Benchmarks of RMQ")
	b.Text("%s", how)
	for _, s := range chosen {
		if s.begin != nil {
			if err := s.begin(b); err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
		}
	}
	for _, s := range chosen {
		b.progress.Say("%s …", s.title)
		if err := b.section(s, how); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	b.Text("No message of any round was lost, and none was handled twice.")
	b.Results(results...)
	return nil
}

// section measures one, and writes its table.
func (b *bench) section(s section, how string) error {
	var table bytes.Buffer
	b.Copy(&table)
	defer b.Copy(nil)
	b.Section(s.title)
	b.Text("%s", s.about)
	if err := s.run(b); err != nil || b.results == "" {
		return err
	}
	return os.WriteFile(filepath.Join(b.results, s.name+".txt"), append(table.Bytes(), "\n"+how+"\n"...), 0o644)
}

type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
