package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/chromedp"
)

// Node is an element as a person who does not see the page is told about it.
type Node struct {
	Role, Name string
	Level      int // of a heading
	Nodes      []*Node
}

// Tree is the page as a person who does not see it is told about it.
func (p *Page) Tree() *Node {
	p.t.Helper()
	var all []*accessibility.Node
	p.until("read the names and roles", func() error {
		result, err := run(p, func(ctx context.Context, t *chromedp.Target) (accessibility.GetFullAXTreeResult, error) {
			return cdp.Call(ctx, t, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
		})
		all = result.Nodes
		return err
	})
	known := map[accessibility.NodeID]*accessibility.Node{}
	for _, n := range all {
		known[n.NodeID] = n
	}
	root := &Node{}
	for _, n := range all {
		if n.ParentID == "" {
			root.add(n, known)
		}
	}
	return root
}

// add adds an element with what is in it. Of one that says nothing itself, only what is in it.
func (n *Node) add(from *accessibility.Node, known map[accessibility.NodeID]*accessibility.Node) {
	to := n
	if !from.Ignored {
		to = &Node{Role: word(from.Role), Name: strings.TrimSpace(word(from.Name))}
		for _, p := range from.Properties {
			if p.Name == accessibility.PropertyNameLevel {
				_ = json.Unmarshal(p.Value.Value, &to.Level) // a number
			}
		}
		n.Nodes = append(n.Nodes, to)
	}
	for _, id := range from.ChildIDs {
		if child := known[id]; child != nil {
			to.add(child, known)
		}
	}
}

func word(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	var s string
	_ = json.Unmarshal(v.Value, &s) // names and roles are words
	return s
}

// All are the elements with one of these roles, in the order of the page.
func (n *Node) All(roles ...string) []*Node {
	var found []*Node
	for _, role := range roles {
		if n.Role == role {
			found = append(found, n)
		}
	}
	for _, child := range n.Nodes {
		found = append(found, child.All(roles...)...)
	}
	return found
}

func (n *Node) String() string {
	var b strings.Builder
	n.write(&b, 0)
	return b.String()
}

func (n *Node) write(b *strings.Builder, depth int) {
	fmt.Fprintf(b, "%s%s %q\n", strings.Repeat("  ", depth), n.Role, n.Name)
	for _, child := range n.Nodes {
		child.write(b, depth+1)
	}
}
