package layers

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// graph maps each package of the main module, relative to it, to what its non-test
// files import.
type graph map[string][]string

// below says which packages of the module a package of the heart may import,
// besides internal/...: only what lies below it. Message may not even that.
var below = map[string][]string{
	"message":          {},
	"slots":            {"message"},
	"luascripts":       {},                                   // all others reach the scripts by internal/protocol
	"journal":          {"message", "luascripts"},            // and no driver
	"journal/recovery": {"message", "luascripts", "journal"}, // compares it with Redis
	"producer":         {"message", "luascripts"},            // not slots, and so no ZooKeeper
	"consumer":         {"message", "slots", "luascripts"},
	"poll":             {"message", "luascripts", "consumer"}, // takes batches without a worker's slots: consumer only for Backoff and Expired
	"inspector":        {"message", "slots", "luascripts", "producer", "consumer"},
	"rmq":              {"message", "slots", "luascripts", "producer", "consumer", "inspector"},
	"rmqhttp":          {"rmq"}, // and the standard library
	"typed":            {"message", "slots", "luascripts", "producer", "consumer", "inspector"},
}

// libraries are all that the heart needs from others, so all that its users get.
var libraries = []string{
	"github.com/redis/go-redis/v9",
	"github.com/go-zookeeper/zk",
	"github.com/klauspost/crc32",
	"go.uber.org/zap",
}

// reserved says who may import something that most packages must not.
var reserved = map[string][]string{
	module + "/rmq":                      {"rmqtest", "rmqhttp", "cmd", "examples", "bench", "internal/testing/system"},
	module + "/internal/protocol/byhand": {"inspector", "internal/commands/topics", "journal/recovery"}, // workers and senders need none of it
	module + "/internal/sharing/fleet":   {"consumer"},
	module + "/internal/upkeep/lookout":  {"consumer", "poll"},
	module + "/internal/servers/wakeups": {"consumer", "poll", "internal/sharing/fleet"},
	module + "/internal/upkeep/deaths":   {"consumer"},
	module + "/internal/upkeep/planner":  {"consumer", "poll"},
	module + "/internal/upkeep/policies": {"consumer", "poll"},
	module + "/internal/upkeep/sweeper":  {"consumer", "poll"},
	module + "/internal/worker":          {"consumer", "poll", "internal/sharing/fleet", "internal/upkeep", "internal/servers/wakeups", "rmq", "typed", "internal/testing"}, // who names what a handler returns: verdict
	module + "/internal/upkeep/periodic": {"consumer", "poll", "internal/upkeep", "internal/sharing/fleet"},
	"github.com/go-zookeeper/zk":         {"slots", "internal/sharing/keeper", "internal/testing/servertest", "examples/zookeeper"},
	"github.com/alicebob/miniredis":      {"rmqtest", "internal/testing/servertest", "examples"},
	module + "/internal/testing":         {"bench"}, // and tests
	module + "/internal/commands":        {"cmd"},
	"github.com/spf13":                   {"internal/commands", "internal/manual"}, // cobra and what comes with it
	"golang.org/x":                       {"internal/commands/frame"},
	"go.uber.org/goleak":                 {"internal/testing/servertest"},
	"testing":                            {"rmqtest", "internal/testing"},

	module + "/internal/sharing/keeper/session": {"internal/sharing/keeper"}, // the seam of the two
}

// wrongImports tells every import that breaks a rule.
func wrongImports(g graph) []string {
	var wrong []string
	for _, pkg := range slices.Sorted(maps.Keys(g)) {
		for _, imp := range g[pkg] {
			for what, who := range reserved {
				if within(imp, what) && !within(module+"/"+pkg, what) && !slices.ContainsFunc(who, func(d string) bool { return within(pkg, d) }) {
					wrong = append(wrong, fmt.Sprintf("%s imports %s, which is for %s", pkg, imp, strings.Join(who, ", ")))
				}
			}
		}
		allowed, heart := below[pkg]
		if !heart {
			allowed, heart = below[top(pkg)]
		}
		if !heart {
			continue
		}
		for imp, via := range g.reach(pkg) {
			if reason := tooMuch(pkg, imp, allowed); reason != "" {
				wrong = append(wrong, fmt.Sprintf("%s imports %s%s: %s", pkg, imp, via, reason))
			}
		}
	}
	slices.Sort(wrong)
	return wrong
}

// tooMuch says why the heart's pkg must not import imp; empty when it may.
func tooMuch(pkg, imp string, allowed []string) string {
	rel, ours := strings.CutPrefix(imp, module+"/")
	switch {
	case !ours && !strings.Contains(top(imp), "."): // the standard library
		return ""
	case top(pkg) == "producer" && within(imp, "github.com/go-zookeeper/zk"):
		return "who only sends needs no ZooKeeper"
	case top(pkg) == "message" && rel != "internal/protocol/limits":
		return "message needs the standard library and the table of limits only"
	case top(pkg) == "rmqhttp" && rel != "rmq":
		return "rmqhttp needs rmq and the standard library only"
	case !ours && !slices.ContainsFunc(libraries, func(l string) bool { return within(imp, l) }):
		return "a library which users would get with it"
	case !ours, top(rel) == top(pkg), top(rel) == "internal", slices.Contains(allowed, top(rel)):
		return ""
	}
	return "not below it"
}

// reach is what pkg imports, directly or through internal/..., which must not
// become the back stairs between two leaves. The value tells the way.
func (g graph) reach(pkg string) map[string]string {
	seen := map[string]string{}
	var follow func(from, via string)
	follow = func(from, via string) {
		for _, imp := range g[from] {
			if _, ok := seen[imp]; ok {
				continue
			}
			seen[imp] = via
			if rel, ours := strings.CutPrefix(imp, module+"/"); ours && top(rel) == "internal" {
				follow(rel, via+" via "+rel)
			}
		}
	}
	follow(pkg, "")
	return seen
}

// importsOf collects the graph. Modules of their own are free: nobody gets what
// they import without asking for them.
func importsOf(files []file) graph {
	own := ownModules(files)
	g := graph{}
	for _, f := range files {
		apart := slices.ContainsFunc(own, func(dir string) bool { return within(f.path, dir) })
		if f.goFile() && !f.test() && !apart {
			g[f.pkg()] = append(g[f.pkg()], f.imports()...)
		}
	}
	return g
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	g := importsOf(repository(t))
	if len(g["internal/testing/servertest"]) == 0 {
		t.Fatal("the tree was not read") // a check of nothing finds nothing
	}
	for _, w := range wrongImports(g) {
		t.Error(w)
	}
}

func TestWrongImportsAreFound(t *testing.T) {
	t.Parallel()
	const zk, mini, redis = "github.com/go-zookeeper/zk", "github.com/alicebob/miniredis/v2", "github.com/redis/go-redis/v9"
	for _, c := range []struct{ pkg, imp string }{
		{"message", module + "/slots"},
		{"message", module + "/internal/x"},
		{"message", redis},
		{"slots", module + "/producer"},
		{"slots", module + "/luascripts"},
		{"luascripts", module + "/slots"},
		{"luascripts", module + "/message"},
		{"luascripts", zk},
		{"producer", module + "/consumer"},
		{"producer", module + "/rmq"},
		{"producer", zk},
		{"producer", mini},
		{"producer/batch", module + "/consumer"},
		{"consumer", module + "/producer"},
		{"consumer", module + "/inspector"},
		{"inspector", module + "/rmq"},
		{"rmq", module + "/internal/protocol/byhand"},
		{"rmq", module + "/rmqtest"},
		{"journal", "github.com/jackc/pgx/v5"},
		{"journal", module + "/rmq"},
		{"journal", module + "/producer"},
		{"journal/recovery", module + "/producer"},
		{"journal/recovery", "github.com/jackc/pgx/v5"},
		{"rmqhttp", redis},
		{"rmqhttp", module + "/consumer"},
		{"rmqhttp", module + "/internal/servers/cluster"},
		{"rmq", "github.com/spf13/cobra"},
		{"rmq", mini},
		{"consumer", "testing"},
		{"consumer", module + "/internal/testing/servertest"},
		{"internal/testing/model", module + "/rmq"},
		{"internal/x", "github.com/spf13/cobra"},
		{"examples/price", "golang.org/x/sys/unix"},
		{"internal/commands", "testing"},
		{"internal/commands", zk},
		{"internal/commands", mini},
		{"cmd/rmq", "github.com/spf13/cobra"},
		{"internal/commands/dead", module + "/internal/protocol/byhand"},
		{"internal/commands/dead", "golang.org/x/term"},
		{"inspector", module + "/internal/commands"},
		{"rmq", module + "/internal/commands/frame"},
		{"producer", zk},
		{"producer", module + "/slots"},
		{"consumer", module + "/internal/protocol/byhand"},
		{"internal/protocol/script", module + "/internal/protocol/byhand"},
	} {
		if wrongImports(graph{c.pkg: {"context", c.imp}}) == nil {
			t.Errorf("%s may import %s", c.pkg, c.imp)
		}
	}
	if wrongImports(graph{"slots": {module + "/internal/x"}, "internal/x": {module + "/luascripts"}}) == nil {
		t.Error("slots may import luascripts through internal/x")
	}
}

func TestRightImportsPass(t *testing.T) {
	t.Parallel()
	g := graph{
		"message":                     {"errors", "go/ast"},
		"slots":                       {"github.com/klauspost/crc32", "github.com/go-zookeeper/zk", "go.uber.org/zap", module + "/message", module + "/internal/x"},
		"slots/zktree":                {module + "/slots"},
		"luascripts":                  {"embed"},
		"producer":                    {module + "/message", module + "/luascripts", "go.uber.org/zap/zapcore"},
		"consumer":                    {module + "/message", module + "/slots", module + "/luascripts", module + "/internal/y"},
		"journal/recovery":            {module + "/journal", module + "/internal/protocol/byhand", module + "/message"},
		"internal/protocol/byhand":    {module + "/luascripts", module + "/internal/x"},
		"inspector":                   {module + "/luascripts", module + "/internal/protocol/byhand"},
		"poll":                        {module + "/consumer", module + "/internal/upkeep/lookout", module + "/internal/servers/wakeups"},
		"rmq":                         {module + "/producer", module + "/consumer", module + "/inspector", module + "/message"},
		"rmqhttp":                     {module + "/rmq", "net/http"},
		"rmqtest":                     {module + "/rmq", "github.com/alicebob/miniredis/v2", "testing"},
		"cmd/rmq":                     {module + "/internal/commands"},
		"internal/commands":           {module + "/internal/commands/frame", "github.com/spf13/cobra"},
		"internal/commands/frame":     {module + "/producer", module + "/inspector", "github.com/spf13/cobra", "golang.org/x/term"},
		"internal/commands/topics":    {module + "/internal/protocol/byhand"},
		"examples/quickstart":         {module + "/rmq", module + "/rmqtest"},
		"internal/x":                  {"sync"},
		"internal/y":                  {module + "/message"},
		"internal/testing/servertest": {"testing", "github.com/alicebob/miniredis/v2", "go.uber.org/goleak"},
	}
	for _, w := range wrongImports(g) {
		t.Error(w)
	}
}
