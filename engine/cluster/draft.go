package cluster

import (
	"context"
	"slices"

	"github.com/stowage-scheduler/stowage/engine/api"
	"github.com/stowage-scheduler/stowage/engine/intern"
	"github.com/stowage-scheduler/stowage/engine/selector"
)

// draft is a compiled node before it is put into the columns.
type draft struct {
	name          intern.ID
	kind, taints  int32
	unschedulable bool
	amounts       amounts
	scalars       []scalarAmount
	images        []imageSize // its own ones, each name once; the names are the stated node's
	row           *row
}

type imageSize struct {
	name      string
	sizeBytes int64
}

// compile compiles a node. Strings in n's scalars and images are the stated node's.
func (b *Builder) compile(ctx context.Context, n *draft, stated *api.Node) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	class := stated.Class
	*n = draft{
		name:          b.c.symbols.Intern(stated.Name),
		kind:          b.kind(class),
		unschedulable: stated.Unschedulable,
		scalars:       n.scalars[:0],
		images:        n.images[:0],
		row:           &b.rows.keep(b.rows.take(1)[:1])[0],
	}
	n.row.labels = b.labels.keep(selector.AppendLabels(b.labels.take(len(stated.Labels)), b.c.symbols, stated.Labels))
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
	n.allot(class.Allocatable)
	n.allot(stated.Allocatable)
	eachImage(stated.Images, func(name string, sizeBytes int64) {
		n.images = append(n.images, imageSize{name, sizeBytes})
	})
	return b.pods.addNode(ctx, n, stated)
}
