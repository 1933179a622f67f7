package gatewaytest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/slotmq/go-rmq/internal/testing/await"
	"github.com/slotmq/go-rmq/internal/testing/must"
	"github.com/slotmq/go-rmq/internal/testing/proctest"
	"github.com/slotmq/go-rmq/internal/testing/servertest"
)

// The clients that users copy send and work, with a token, through a load balancer, and end at SIGTERM.
func TestClients(t *testing.T) {
	t.Parallel()
	for language, suffix := range map[string]string{"python3": "py", "node": "mjs"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			dir, server := proctest.New(t), servertest.Redis(t)
			binary := rmqd(t)
			tokens := filepath.Join(t.TempDir(), "tokens.json")
			token, err := exec.Command(binary, "token", "all", "--tokens", tokens, "--rights", "send,take").Output()
			must.Do(t, err)
			gateways := []string{servertest.Nobody(t), servertest.Nobody(t)}
			for n, at := range gateways {
				serving(t, dir, fmt.Sprint("gateway", n), at, server.Addr(), "--tokens", tokens)
			}
			env := []string{"RMQ_URL=http://" + balance(t, gateways...), "RMQ_TOKEN=" + strings.TrimSpace(string(token))}
			out, err := exec.Command(binary, "send", "orders", "order 0", "--priority", "500", "--kind", "priority", "--redis", "redis://"+server.Addr()).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			send := func(stdin string, args ...string) string {
				t.Helper()
				return strings.TrimSpace(run(t, stdin, env, language, append([]string{"send." + suffix, "orders", "500"}, args...)...))
			}
			if got := send("", "order 1"); got != "stored" {
				t.Error(got)
			}
			if got := send("", "order 1"); got != "merged" {
				t.Error(got)
			}
			if got := send("order 1\norder 2\n订单 3\n"); got != "2 stored, 1 merged, 0 failed" {
				t.Error(got)
			}
			if out, err := try(t, "", append(env, "RMQ_TOKEN=wrong"), language, "send."+suffix, "orders", "500", "x"); err == nil || !strings.Contains(out, "Authorization: Bearer TOKEN") {
				t.Error(err, out)
			}
			cmd := exec.Command(interpreter(t, language), "work."+suffix, "orders")
			cmd.Dir, cmd.Env = clients(t), append(os.Environ(), append(env, "PYTHONDONTWRITEBYTECODE=1")...)
			worker := dir.Run("worker", cmd)
			says := func() string {
				text, err := os.ReadFile(filepath.Join(dir.Path, "worker.err"))
				must.Do(t, err)
				return string(text)
			}
			dir.Await("all are handled", func() bool { return strings.Count(says(), "\n") == 4 })
			for _, content := range []string{"order 0", "order 1", "order 2", "订单 3"} {
				if !strings.Contains(says(), "attempt 1: "+content+"\n") {
					t.Errorf("%q was not handled: %s", content, says())
				}
			}
			worker.Term()
			dir.Await("the worker ends", func() bool { gone, _ := worker.Gone(); return gone })
			if _, err := worker.Gone(); err != nil {
				t.Errorf("%v: %s", err, says())
			}
		})
	}
}

// An error with half a character in it does not end a worker: the message would come again, and end the next one.
func TestClientsSayWhy(t *testing.T) {
	t.Parallel()
	dir, server, at := proctest.New(t), servertest.Redis(t), servertest.Nobody(t)
	serving(t, dir, "gateway", at, server.Addr())
	for language, args := range map[string][]string{
		"python3": {"-c", `
import rmq
client = rmq.Client()
def handle(message, batch):
    raise rmq.Dead("no file \udcff")
client.send("python", {"content": "1", "priority": 500, "kind": "priority"})
print(client.handle(client.take(["python"]), handle, "60s"))`},
		"node": {"--input-type=module", "-e", `
const { Client, Dead } = await import('./rmq.mjs')
const client = new Client()
await client.send('node', { content: '1', priority: 500, kind: 'priority' })
console.log(await client.handle(await client.take(['node']), () => { throw new Dead('no file \udcff') }, '60s'))`},
	} {
		if got := strings.ToLower(run(t, "", []string{"RMQ_URL=http://" + at}, language, args...)); got != "true\n" {
			t.Errorf("%s: %s", language, got)
		}
	}
}

// What the Dockerfile, compose.yaml and the manifest start, rmqd understands.
func TestContainersStartWhatThereIs(t *testing.T) {
	t.Parallel()
	binary := rmqd(t)
	for file, pattern := range map[string]string{"Dockerfile": `(?m)^CMD \[(.*)\]`, "examples/kubernetes/gateway.yaml": `args: \[(.*)\]`, "compose.yaml": `command: \[("serve".*)\]`} {
		text, err := os.ReadFile("../../" + file)
		must.Do(t, err)
		found := regexp.MustCompile(pattern).FindSubmatch(text)
		if found == nil {
			t.Fatalf("%s starts nothing", file)
		}
		var args []string
		for _, word := range strings.Split(string(found[1]), ",") {
			args = append(args, strings.Trim(word, ` "`))
		}
		out, err := exec.Command(binary, args...).CombinedOutput()
		if err == nil || string(out) != "rmqd: --tokens: read tokens: open /etc/rmqd/tokens.json: no such file or directory; rmqd token NAME --tokens /etc/rmqd/tokens.json makes it\n" {
			t.Errorf("%s: rmqd %q: %v %s", file, args, err, out)
		}
	}
}

// An image that is not pinned by its digest is another one tomorrow.
func TestImagesArePinned(t *testing.T) {
	t.Parallel()
	for file, want := range map[string]int{"Dockerfile": 2, "compose.yaml": 2, ".github/workflows/test.yml": 1} {
		text, err := os.ReadFile("../../" + file)
		must.Do(t, err)
		found := regexp.MustCompile(`(?m)(?:^FROM (?:--platform=\S+ )?| image: | container: )(\S+)`).FindAllSubmatch(text, -1)
		if len(found) != want {
			t.Errorf("%s names %d images, want %d", file, len(found), want)
		}
		for _, image := range found {
			if name := string(image[1]); name != "scratch" && !regexp.MustCompile(`^[a-z]+:[0-9.]+@sha256:[0-9a-f]{64}$`).MatchString(name) {
				t.Errorf("%s: image %s has no digest", file, name)
			}
		}
	}
}

// What a new user does wrong with the clients, they say at once.
func TestClientsSayWhatIsWrong(t *testing.T) {
	t.Parallel()
	for language, suffix := range map[string]string{"python3": "py", "node": "mjs"} {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			dir, server, at := proctest.New(t), servertest.Redis(t), servertest.Nobody(t)
			binary := rmqd(t)
			serving(t, dir, "gateway", at, server.Addr())
			out, err := exec.Command(binary, "send", "orders", "order 0", "--priority", "500", "--kind", "priority", "--redis", "redis://"+server.Addr()).CombinedOutput()
			if err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if got := run(t, "", []string{"RMQ_URL=http://" + at + "/"}, language, "send."+suffix, "orders", "500", "order 1"); got != "stored\n" {
				t.Errorf("a URL with a slash at its end: %q", got)
			}
			for _, c := range []struct {
				env  []string
				args []string
				says string
			}{
				{[]string{"RMQ_URL=" + at}, []string{"send." + suffix, "orders", "500", "x"}, "it must be one such as http://localhost:8080"},
				{nil, []string{"send." + suffix}, "send." + suffix},
				{nil, []string{"work." + suffix}, "work." + suffix},
				{nil, []string{"produce." + suffix}, "produce." + suffix},
			} {
				if out, err := try(t, "", c.env, language, c.args...); err == nil || !strings.Contains(out, c.says) || strings.Contains(out, "main()") {
					t.Errorf("%q: %v %s", c.args, err, out)
				}
			}
			// Nothing listens, or there is a load balancer without a gateway: it closes each connection at
			// once.
			for name, nowhere := range map[string]string{"nobody": servertest.Nobody(t), "balancer": balance(t)} {
				cmd := exec.Command(interpreter(t, language), "send."+suffix, "orders", "500", "x")
				cmd.Dir, cmd.Env = clients(t), append(os.Environ(), "RMQ_URL=http://"+nowhere, "PYTHONDONTWRITEBYTECODE=1")
				dir.Run(name, cmd)
				dir.Await(name+" is named, and tried again", func() bool {
					text, err := os.ReadFile(filepath.Join(dir.Path, name+".err"))
					must.Do(t, err)
					return strings.Contains(string(text), nowhere) && strings.Contains(string(text), "tried again for 120 s")
				})
			}
		})
	}
}

// An answer that comes byte by byte, and never whole, ends a request at the client's limit: 90 s.
func TestClientsGiveUp(t *testing.T) {
	t.Parallel()
	for name, head := range map[string]string{"nothing": "", "head": "HTTP/1.1 200 OK\r\nA: ", "body": "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env := []string{"RMQ_URL=http://" + speaks(t, func(c net.Conn) {
				for _, err := io.WriteString(c, head); err == nil && head != ""; _, err = io.WriteString(c, "x") {
					await.Pass(20 * time.Millisecond)
				}
				_, _ = io.Copy(io.Discard, c) // until the client has closed it
			})}
			out := run(t, "", env, "node", "--input-type=module", "-e", `
const { Client } = await import('./rmq.mjs')
const client = new Client()
console.log(client.limit)
client.limit = 1
await client.ask('POST', '/', {}).catch((e) => console.log(e.message))`)
			if out != "90\nno whole answer within 1 s\n" {
				t.Error(out)
			}
			out = run(t, "", env, "python3", "-c", `
import http.client, rmq
client = rmq.Client()
print(client.limit)
client.limit = 1
try:
    client.ask("POST", "/", {})
except (OSError, http.client.HTTPException):
    print("gave up")`)
			if out != "90\ngave up\n" {
				t.Error(out)
			}
		})
	}
}

// speaks listens at an address, and speaks to each who comes.
func speaks(t *testing.T, speak func(net.Conn)) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must.Do(t, err)
	var speaking sync.WaitGroup
	t.Cleanup(func() { l.Close(); speaking.Wait() })
	speaking.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			speaking.Go(func() {
				defer c.Close()
				speak(c)
			})
		}
	})
	return l.Addr().String()
}

// An answer that ends too early is no answer, wherever it ends: it is asked for again.
func TestClientsKnowCutAnswers(t *testing.T) {
	t.Parallel()
	const whole = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 21\r\n\r\n{\"outcome\":\"stored\"}\n"
	for _, end := range []int{15, 17, 30, 50, 52, 69, 70, 80, len(whole) - 1, len(whole)} {
		t.Run(fmt.Sprint(end), func(t *testing.T) {
			t.Parallel()
			env := []string{"RMQ_URL=http://" + speaks(t, func(c net.Conn) {
				asked, err := http.ReadRequest(bufio.NewReader(c))
				if err == nil {
					_, _ = io.Copy(io.Discard, asked.Body)
					_, _ = io.WriteString(c, whole[:end])
				}
			})}
			want := "cut\n"
			if end == len(whole) {
				want = "stored\n"
			}
			if out := run(t, "", env, "python3", "-c", `
import http.client, rmq
try:
    print(rmq.Client().ask("POST", "/", {})["outcome"])
except (OSError, http.client.HTTPException):
    print("cut")`); out != want {
				t.Errorf("Python: %s", out)
			}
			if out := run(t, "", env, "node", "--input-type=module", "-e", `
const { Client, Problem } = await import('./rmq.mjs')
await new Client().ask('POST', '/', {}).then((a) => console.log(a.outcome), (e) => console.log(e instanceof Problem ? e : 'cut'))`); out != want {
				t.Errorf("Node: %s", out)
			}
		})
	}
}

// A body that is too long is refused before it has come whole, and the client says so, and does not send it again.
func TestClientsSayWhatIsTooLong(t *testing.T) {
	t.Parallel()
	dir, server, at := proctest.New(t), servertest.Redis(t), servertest.Nobody(t)
	serving(t, dir, "gateway", at, server.Addr())
	env := []string{"RMQ_URL=http://" + at}
	if out := run(t, "", env, "python3", "-c", `
import rmq
try:
    rmq.Client().send("orders", {"content": "x" * (30 << 20), "priority": 500})
except rmq.Problem as e:
    print(e.status)`); out != "413\n" {
		t.Errorf("Python: %s", out)
	}
	if out := run(t, "", env, "node", "--input-type=module", "-e", `
const { Client } = await import('./rmq.mjs')
await new Client().send('orders', { content: 'x'.repeat(30 << 20), priority: 500 }).catch((e) => console.log(e.status))`); out != "413\n" {
		t.Errorf("Node: %s", out)
	}
}
