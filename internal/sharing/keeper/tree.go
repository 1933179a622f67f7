package keeper

import (
	"fmt"
	"net/url"
	"strings"
)

// tree is the path of the node below which one namespace keeps everything. Names
// that people choose are escaped in it, and escaped names stay inside: no caller ever
// takes a path apart by itself.
type tree string

// ownNames are the nodes of a tree. Without a namespace they lie where namespaces do.
var ownNames = []string{"meta", "topics", "workers", "coordinator", "assign", "owned"}

// newTree is the tree of a namespace below root, which may be empty as well.
func newTree(root, namespace string) tree {
	root = strings.TrimSuffix(root, "/")
	if namespace != "" {
		root += "/" + escape(namespace)
	}
	return tree(root)
}

func (t tree) meta() string        { return string(t) + "/meta" }
func (t tree) topics() string      { return string(t) + "/topics" }
func (t tree) workers() string     { return string(t) + "/workers" }
func (t tree) coordinator() string { return string(t) + "/coordinator" }
func (t tree) assigns() string     { return string(t) + "/assign" }
func (t tree) owners() string      { return string(t) + "/owned" }

func (t tree) topic(name string) string  { return t.topics() + "/" + escape(name) }
func (t tree) worker(id string) string   { return t.workers() + "/" + escape(id) }
func (t tree) leaving(id string) string  { return t.worker(id) + leavingMark }
func (t tree) assign(name string) string { return t.assigns() + "/" + escape(name) }
func (t tree) owned(id string) string    { return t.owners() + "/" + escape(id) }

// repair returns the command of zkCli.sh that repairs a tree that was deleted under its
// workers.
func (t tree) repair(id string, other bool) string {
	command := "create"
	if other {
		command = "set"
	}
	return fmt.Sprintf(`%s %s {"layout":%d,"tree":%q,"again":true}`, command, t.meta(), layout, id)
}

// repairIf says when to use it. Otherwise each half would take the other's workers for dead.
const repairIf = "if the nodes were deleted, and no worker works with other servers, this repairs it, in zkCli.sh:"

// leavingMark stands behind the id of a worker that leaves. No escaped id has one.
const leavingMark = "!leaving"

// splitWorker takes the name of a child of workers apart.
func splitWorker(child string) (id string, leaving bool, err error) {
	child, leaving = strings.CutSuffix(child, leavingMark)
	id, err = unescape(child)
	return id, leaving, err
}

// escape turns any name into one component of a path. ZooKeeper refuses some
// characters, allows no node "." or "..", and a slash would begin another one.
func escape(name string) string {
	dots := name == "." || name == ".."
	var b strings.Builder
	for i := range len(name) {
		c := name[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '-', c == '_', c == '.' && !dots:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// unescape returns the name that escape turned into a component. What escape would not
// write is no name: two nodes for one name would be two topics.
func unescape(component string) (string, error) {
	name, err := url.PathUnescape(component)
	if err == nil && escape(name) != component {
		err = fmt.Errorf("node name %q is not written as %q", component, escape(name))
	}
	return name, err
}
