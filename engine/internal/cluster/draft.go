package cluster

import (
	"context"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Draft is a node before it is in the columns.
type Draft struct {
	unschedulable bool
	amounts       amounts
	scalars       []named[Amount] // ascending by name
	images        []named[int64]  // of the node itself, with sizes; the strings are the stated node's
	row           *row

	// These depend on the nodes before it.
	name         intern.ID
	kind, taints int32
}

// Drafts prepares nodes for AddDraft, concurrently with other Drafts and with the addition of nodes. A Drafts is for one
// goroutine.
type Drafts struct {
	c    *Cluster
	rows arena[row]
}

// Drafts returns a Drafts for nodes that refer to the templates and classes added so far.
func (b *Builder) Drafts() *Drafts {
	d := &Drafts{c: b.c}
	d.rows.chunk = 256
	return d
}

// Prepare does the part of adding a node that does not depend on other nodes. Strings in n's scalars and images are those
// of stated.
func (d *Drafts) Prepare(n *Draft, stated *api.Node) {
	class := stated.Class
	if class == nil {
		class = noClass
	}
	*n = Draft{
		unschedulable: stated.Unschedulable,
		scalars:       n.scalars[:0],
		images:        n.images[:0],
		row:           &d.rows.keep(d.rows.take(1)[:1])[0],
	}
	n.allot(class.Allocatable)
	n.allot(stated.Allocatable)
	n.images = appendImages(n.images, stated.Images)
	n.occupyCounted(d.c.templates, stated.PodCounts)
	if len(stated.Pods) > 0 {
		n.row.named = namesOf(stated.Pods)
	}
}

// namesOf returns pods with only their names, which share one allocation.
func namesOf(stated []api.Pod) []NamedPod {
	size := 0
	for i := range stated {
		size += len(stated[i].Name)
	}
	var all strings.Builder
	all.Grow(size)
	for i := range stated {
		all.WriteString(stated[i].Name)
	}
	named, rest := make([]NamedPod, len(stated)), all.String()
	for i := range stated {
		length := len(stated[i].Name)
		named[i].Name, rest = rest[:length], rest[length:]
	}
	return named
}

// compile finishes a prepared node.
func (b *Builder) compile(ctx context.Context, n *Draft, stated *api.Node) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	n.name = b.c.symbols.Intern(stated.Name)
	n.kind = b.kind(stated.Class)
	n.row.labels = b.labels.keep(selector.AppendLabels(b.labels.take(len(stated.Labels)), b.c.symbols, stated.Labels))
	class := stated.Class
	if class == nil {
		class = noClass
	}
	switch taints := class.Taints; {
	case len(taints)+len(stated.Taints) == 0:
		n.taints = 0
	case len(taints) == 0:
		n.taints = b.taints.find(stated.Taints, cloneTaints)
	default:
		if len(stated.Taints) > 0 {
			taints = slices.Concat(taints, stated.Taints)
		}
		n.taints = b.taints.find(taints, cloneTaints)
	}
	return b.pods.addNode(ctx, n, stated)
}
