package cluster

import (
	"context"
	"slices"
	"strings"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/internal/intern"
	"github.com/stowage-scheduler/stowage/engine/internal/selector"
)

// Draft is a node before it is put into the columns.
type Draft struct {
	unschedulable bool
	counted       bool // row.pods is of pods that are counted, each template once, with their slots in place of groups
	amounts       amounts
	scalars       []scalarAmount // by resource
	images        []imageSize    // its own ones, each name once; the names are the stated node's
	row           *row

	// What depends on the nodes before it.
	name         intern.ID
	kind, taints int32
}

type imageSize struct {
	name      string
	sizeBytes int64
}

// Drafts prepares nodes that are to be added, while others do so and while what is prepared is added. A Drafts is for one
// goroutine.
type Drafts struct {
	c    *Cluster
	rows arena[row]
	pods arena[podsOf]
}

// Drafts returns a new one for nodes that refer to the templates and classes that there are.
func (b *Builder) Drafts() *Drafts {
	d := &Drafts{c: b.c}
	d.rows.chunk, d.pods.chunk = 256, 4096
	return d
}

// Prepare does as much of adding a node as does not depend on other nodes. Strings in n's scalars and images are the
// stated node's.
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
	eachImage(stated.Images, func(name string, sizeBytes int64) {
		n.images = append(n.images, imageSize{name, sizeBytes})
	})
	n.occupyCounted(d.c.templates, stated.PodCounts)
	if len(stated.Pods) == 0 {
		d.slots(n, stated.PodCounts)
	} else {
		n.row.named = namesOf(stated.Pods)
	}
}

// namesOf returns pods that have no more than their names, which lie in one piece.
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

// slots notes which pods are counted, unless a template is stated twice or out of order.
func (d *Drafts) slots(n *Draft, counts []api.PodCount) {
	pods := d.pods.take(len(counts))
	last := int32(-1)
	for i := range counts {
		p := &counts[i]
		slot := slotOf(p.Template, p.Terminating)
		if slot <= last {
			return
		}
		last = slot
		pods = append(pods, podsOf{slot, p.Count})
	}
	n.row.pods, n.counted = d.pods.keep(pods), true
}

// compile finishes a node that is prepared.
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
	switch {
	case len(class.Taints) == 0:
		n.taints = b.taints.find(stated.Taints)
	case len(stated.Taints) == 0:
		n.taints = b.taints.find(class.Taints)
	default:
		n.taints = b.taints.find(slices.Concat(class.Taints, stated.Taints))
	}
	return b.pods.addNode(ctx, n, stated)
}
