package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"github.com/slotmq/go-rmq/bench/internal/servers"
)

// A child is this program once more, in a process of its own: for a round with a
// changed product, or with several processes. It gets its orders on its
// standard input and answers on its standard output, both in JSON.

// childArgument is the only argument of a child.
const childArgument = "child"

// request is what a child is asked to do, on the Redis of an address.
type request struct {
	Role, Redis                       string
	Messages, Slots, Callers, Payload int
	Load                              int    // messages a second
	Part, Parts                       int    // of the messages, for a sender
	Topics                            int    // that a worker listens to
	Plans                             int    // of these topics that have a plan
	Journal                           string // its URL; empty: none
	Wait                              bool   // for it
}

// answer is what came of it. Most roles leave most of it empty.
type answer struct {
	servers.Sample
	P99     time.Duration // from Send to the handler
	Idle    float64       // commands a second before anything was sent
	Worker  string        // the id of one
	Handled int           // messages so far
	Stopped bool          // the last but one of a worker
	Seen    []uint64      // which messages it handled, a bit each
	Again   int64         // deliveries of messages that it had handled before
}

// talk is one end of the pipes between a child and its parent.
type talk struct {
	*json.Decoder
	*json.Encoder
}

// job is a request in the child.
type job struct {
	*bench
	request
	place  servers.Place
	parent talk
}

var roles = map[string]func(job) (answer, error){
	"both": func(j job) (a answer, err error) {
		a.Sample, err = j.bothRMQ(j.place, j.Slots, j.Messages)
		return a, err
	},
	"drain": func(j job) (a answer, err error) {
		a.Sample, _, err = j.drain(j.place, j.Slots, j.Messages, risingDue())
		return a, err
	},
	"journaled": job.journaled,
	"paced":     job.paced,
	"rest":      job.rest,
	"send":      job.send,
	"work":      job.work,
}

// childMain does what the parent asks for.
func childMain(in io.Reader, out io.Writer) error {
	j := job{parent: talk{json.NewDecoder(in), json.NewEncoder(out)}}
	if err := j.parent.Decode(&j.request); err != nil {
		return fmt.Errorf("read the request: %w", err)
	}
	role := roles[j.Role]
	if role == nil {
		return fmt.Errorf("there is no role %q", j.Role)
	}
	j.bench = &bench{options: options{messages: j.Messages, callers: j.Callers, payload: j.Payload}}
	j.place = servers.At(j.Redis)
	a, err := role(j)
	if err != nil {
		return fmt.Errorf("%s: %w", j.Role, err)
	}
	return j.parent.Encode(a)
}

// child is one as its parent sees it.
type child struct {
	cmd    *exec.Cmd
	pipes  talk
	stderr bytes.Buffer
}

// startChild starts a child. Like the servers, it dies with this process; of a
// Ctrl-C it hears by itself.
func (b *bench) startChild(program string, r request) (*child, error) {
	c := &child{cmd: exec.Command(program, childArgument)}
	c.cmd.Stderr = &c.stderr
	c.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.pipes = talk{json.NewDecoder(out), json.NewEncoder(in)}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start a child: %w", err)
	}
	if err := c.tell(r); err != nil {
		return nil, err
	}
	return c, nil
}

func (c *child) tell(what any) error { return c.failure(c.pipes.Encode(what)) }

// hear waits for an answer.
func (c *child) hear() (a answer, err error) {
	err = c.failure(c.pipes.Decode(&a))
	return a, err
}

// failure adds to an error what the child has said of it.
func (c *child) failure(err error) error {
	if err != nil {
		c.end()
		err = fmt.Errorf("a child failed: %w, %s: %.2000s", err, c.cmd.ProcessState, c.stderr.Bytes())
	}
	return err
}

// end ends the child, if that has not happened yet. One that has failed is given
// the time to tell why.
func (c *child) end() {
	timer := time.AfterFunc(time.Second, func() { _ = c.cmd.Process.Kill() })
	_ = c.cmd.Wait()
	timer.Stop()
}

// inChild is one round in a child.
func (b *bench) inChild(program string, r request) (answer, error) {
	c, err := b.startChild(program, r)
	if err != nil {
		return answer{}, err
	}
	defer c.end()
	return c.hear()
}

// request is one for a child that should use the Redis of a place.
func (b *bench) request(role string, p servers.Place, slots, messages int) request {
	return request{Role: role, Redis: p.Address(), Messages: messages, Slots: slots, Callers: b.callers, Payload: b.payload}
}
